"""Line charts as SVG, with the same bytes for the same numbers."""
import math

COLOURS = ["#2166ac", "#b2182b", "#1b7837", "#762a83", "#e08214", "#4d4d4d", "#35978f", "#c51b7d"]


def ticks(low, high, log):
    if log:
        return [10.0**k for k in range(math.floor(low), math.ceil(high) + 1) if low - 1e-9 <= k <= high + 1e-9] or [10.0**low, 10.0**high]
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-12)))
    step *= 0.5 if (high - low) / step < 2.5 else 1
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def draw(title, across, up, curves, log_x=True, log_y=True):
    """curves: [(name, [(x, y) or (x, y, low, high)], dashed)]. Points that a logarithm cannot show are left out."""
    width, height, left, right, top, bottom = 680, 400, 70, 190, 34, 46
    fx = math.log10 if log_x else float
    fy = math.log10 if log_y else float
    curves = [(name, [p for p in points if (not log_x or p[0] > 0) and (not log_y or p[1] > 0)], dashed) for name, points, dashed in curves]
    xs = [fx(p[0]) for _, points, _ in curves for p in points]
    ys = [fy(p[1]) for _, points, _ in curves for p in points]
    x0, x1, y0, y1 = min(xs), max(xs), min(ys), max(ys)
    pad = 0.05 * max(y1 - y0, 1e-9)
    y0, y1 = y0 - pad, y1 + pad
    at_x = lambda x: left + (fx(x) - x0) / max(x1 - x0, 1e-12) * (width - left - right)
    at_y = lambda y: height - bottom - (fy(y) - y0) / (y1 - y0) * (height - top - bottom)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{width}" height="{height}" fill="white"/>', f'<text x="{left}" y="20" font-size="13">{title}</text>']
    for t in ticks(x0, x1, log_x):
        out.append(f'<line x1="{at_x(t):.1f}" x2="{at_x(t):.1f}" y1="{top}" y2="{height - bottom}" stroke="#ddd"/>'
                   f'<text x="{at_x(t):.1f}" y="{height - bottom + 15}" text-anchor="middle">{t:g}</text>')
    for t in ticks(y0, y1, log_y):
        out.append(f'<line x1="{left}" x2="{width - right}" y1="{at_y(t):.1f}" y2="{at_y(t):.1f}" stroke="#ddd"/>'
                   f'<text x="{left - 6}" y="{at_y(t) + 4:.1f}" text-anchor="end">{t:g}</text>')
    for k, (name, points, dashed) in enumerate(curves):
        colour = COLOURS[k % len(COLOURS)]
        style = ' stroke-dasharray="5 4"' if dashed else ""
        path = " ".join(f"{at_x(p[0]):.1f},{at_y(p[1]):.1f}" for p in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"{style}/>')
        for p in points:
            if len(p) == 4 and (not log_y or p[2] > 0):
                out.append(f'<line x1="{at_x(p[0]):.1f}" x2="{at_x(p[0]):.1f}" y1="{at_y(p[2]):.1f}" y2="{at_y(p[3]):.1f}" stroke="{colour}"/>')
            if not dashed:
                out.append(f'<circle cx="{at_x(p[0]):.1f}" cy="{at_y(p[1]):.1f}" r="2.4" fill="{colour}"/>')
        out.append(f'<line x1="{width - right + 10}" x2="{width - right + 28}" y1="{top + 14 * k + 8}" y2="{top + 14 * k + 8}" stroke="{colour}" stroke-width="1.6"{style}/>'
                   f'<text x="{width - right + 33}" y="{top + 14 * k + 12}">{name}</text>')
    out.append(f'<text x="{(left + width - right) / 2:.0f}" y="{height - 10}" text-anchor="middle">{across}</text>'
               f'<text x="16" y="{(top + height - bottom) / 2:.0f}" text-anchor="middle" transform="rotate(-90 16 {(top + height - bottom) / 2:.0f})">{up}</text></svg>')
    return "\n".join(out) + "\n"
