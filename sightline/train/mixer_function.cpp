#include "sightline/train/mixer_function.hpp"

#include "sightline/mixer/plan.hpp"
#include "sightline/train/tensor_mixer.hpp"

namespace sightline::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;
using torch::autograd::Variable;

/// Everything of a call that is not a tensor.
struct Call {
  const LayerPlan* plan = nullptr;
  const mixer::Plan* rows = nullptr;
  mixer::Aggregation aggregation = mixer::Aggregation::sum;
  std::int64_t heads = 1;
  mixer::Execution execution;
};

/// A contiguous [batch, token, head, width] as the mixers want to see it.
template <class Real> mixer::View<Real> view(const Tensor& t) {
  using Plain = std::remove_const_t<Real>;
  if (!t.defined())
    return {};
  return {t.data_ptr<Plain>(), t.stride(0), t.stride(2), t.stride(1)};
}

template <class Real> Real* pointer(const Tensor& t) { return t.defined() ? t.data_ptr<Real>() : nullptr; }

mixer::Shape make_shape(const Tensor& readers, const Tensor& keys, const Tensor& values) {
  mixer::Shape shape;
  shape.batch = readers.size(0);
  shape.readers = readers.size(1);
  shape.heads = readers.size(2);
  shape.width = readers.size(3);
  shape.reads = keys.size(1);
  shape.key_heads = keys.size(2);
  shape.value_width = values.size(3);
  return shape;
}

template <class Body> void dispatch(const Tensor& like, const Body& body) {
  if (like.scalar_type() == at::kDouble)
    body(double{});
  else
    body(float{});
}

// Autograd hands only tensors from forward to backward by itself; the call travels as an integer that points to a copy
// which the node owns (a tensor of bytes), so that the graph may outlive the function that made it.
Tensor pack(const Call& call) {
  Tensor bytes = at::empty({static_cast<std::int64_t>(sizeof(Call))}, at::kByte);
  new (bytes.data_ptr()) Call(call);
  return bytes;
}
static_assert(std::is_trivially_destructible_v<Call> && std::is_trivially_copyable_v<Call>);
const Call& unpack(const Tensor& bytes) { return *static_cast<const Call*>(bytes.data_ptr()); }

template <class Real>
mixer::AttentionInputs<Real> make_inputs(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                                         const Tensor& sink, const Tensor& lengths) {
  mixer::AttentionInputs<Real> in;
  in.query = view<const Real>(q);
  in.key = view<const Real>(k);
  in.value = view<const Real>(v);
  in.bias = pointer<Real>(bias);
  in.sink = pointer<Real>(sink);
  in.lengths = pointer<std::int64_t>(lengths);
  return in;
}

/// Undefined tensors cannot be saved by every version: an empty one stands in.
Tensor or_empty(const Tensor& t, const Tensor& like) {
  return t.defined() ? t.contiguous() : at::empty({0}, like.options());
}
Tensor or_undefined(const Tensor& t) { return t.numel() == 0 ? Tensor() : t; }

/// What forward leaves for backward beside the output; see mixer::AttentionOutputs.
struct Kept {
  Tensor statistics, arc_weights;
};

Tensor run_attention(const Call& call, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                     const Tensor& sink, const Tensor& lengths, Kept* kept, Tensor* attention) {
  const mixer::Shape shape = make_shape(q, k, v);
  Tensor out = at::empty({shape.batch, shape.readers, shape.heads, shape.value_width}, q.options());
  if (kept)
    kept->statistics = at::empty({shape.batch, shape.heads, shape.readers, 2}, q.options());
  if (attention)
    *attention = at::empty({shape.batch, shape.heads, shape.readers, shape.reads}, q.options());
  dispatch(q, [&](auto zero) {
    using Real = decltype(zero);
    if (kept) {
      const bool plain = !bias.defined() && !lengths.defined(); // else forward leaves none
      const std::int64_t arcs = plain ? mixer::count_arc_weights<Real>(*call.rows, call.plan->rule, shape, call.execution) : 0;
      kept->arc_weights = at::empty({arcs}, q.options());
    }
    const mixer::AttentionOutputs<Real> outputs{
        view<Real>(out), kept ? pointer<Real>(kept->statistics) : nullptr, attention ? pointer<Real>(*attention) : nullptr,
        kept ? pointer<Real>(or_undefined(kept->arc_weights)) : nullptr};
    mixer::attend<Real>(*call.rows, call.plan->rule, shape, make_inputs<Real>(q, k, v, bias, sink, lengths), outputs,
                        call.execution);
  });
  return out;
}

struct Attend : Function<Attend> {
  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                        const Tensor& sink, const Tensor& lengths, const Tensor& call) {
    Kept kept;
    const Tensor out = run_attention(unpack(call), q, k, v, or_undefined(bias), or_undefined(sink),
                                     or_undefined(lengths), &kept, nullptr);
    context->save_for_backward({q, k, v, bias, sink, lengths, call, out, kept.statistics, kept.arc_weights});
    return out;
  }

  static tensor_list backward(AutogradContext* context, tensor_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &q = saved[0], &k = saved[1], &v = saved[2], &bias = saved[3], &sink = saved[4], &lengths = saved[5],
                 &out = saved[7];
    const Call& call = unpack(saved[6]);
    const Tensor above = gradients[0].contiguous();
    const auto room = [&](std::size_t input, const Tensor& t) {
      return t.numel() > 0 && context->needs_input_grad(input) ? at::empty_like(t) : Tensor();
    };
    const Tensor dq = room(0, q), dk = room(1, k), dv = room(2, v), dbias = room(3, bias), dsink = room(4, sink);
    dispatch(q, [&](auto zero) {
      using Real = decltype(zero);
      mixer::AttentionGradients<Real> wanted;
      wanted.out = view<const Real>(above);
      wanted.query = view<Real>(dq);
      wanted.key = view<Real>(dk);
      wanted.value = view<Real>(dv);
      wanted.bias = pointer<Real>(dbias);
      wanted.sink = pointer<Real>(dsink);
      mixer::attend_backward<Real>(
          *call.rows, call.plan->rule, make_shape(q, k, v),
          make_inputs<Real>(q, k, v, or_undefined(bias), or_undefined(sink), or_undefined(lengths)),
          {view<Real>(out), pointer<Real>(saved[8]), nullptr, pointer<Real>(or_undefined(saved[9]))}, wanted, call.execution);
    });
    return {dq, dk, dv, dbias, dsink, Tensor(), Tensor()};
  }
};

template <class Real>
mixer::AggregateInputs<Real> make_values(const Tensor& v, const Tensor& weight, const Tensor& lengths) {
  return {view<const Real>(v), pointer<Real>(weight), pointer<std::int64_t>(lengths)};
}

mixer::Shape make_shape(const Call& call, const Tensor& v) {
  mixer::Shape shape;
  shape.batch = v.size(0);
  shape.readers = call.rows->readers();
  shape.reads = v.size(1);
  shape.heads = call.heads;
  shape.key_heads = v.size(2);
  shape.width = shape.value_width = v.size(3);
  return shape;
}

struct Aggregate : Function<Aggregate> {
  static Tensor forward(AutogradContext* context, const Tensor& v, const Tensor& weight, const Tensor& lengths,
                        const Tensor& packed) {
    const Call& call = unpack(packed);
    const mixer::Shape shape = make_shape(call, v);
    Tensor out = at::empty({shape.batch, shape.readers, shape.heads, shape.value_width}, v.options());
    dispatch(v, [&](auto zero) {
      using Real = decltype(zero);
      mixer::aggregate<Real>(*call.rows, call.aggregation, shape,
                             make_values<Real>(v, or_undefined(weight), or_undefined(lengths)), view<Real>(out),
                             call.execution);
    });
    context->save_for_backward({v, weight, lengths, packed});
    return out;
  }

  static tensor_list backward(AutogradContext* context, tensor_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &v = saved[0], &weight = saved[1], &lengths = saved[2];
    const Call& call = unpack(saved[3]);
    const Tensor above = gradients[0].contiguous();
    // Rows of zeros are what absent readers leave, and a gradient for the values is always asked for.
    const Tensor dv = at::empty_like(v),
                 dweight = weight.numel() > 0 && context->needs_input_grad(1) ? at::empty_like(weight) : Tensor();
    dispatch(v, [&](auto zero) {
      using Real = decltype(zero);
      mixer::aggregate_backward<Real>(*call.rows, call.aggregation, make_shape(call, v),
                                      make_values<Real>(v, or_undefined(weight), or_undefined(lengths)),
                                      view<const Real>(above), view<Real>(dv), pointer<Real>(dweight), call.execution);
    });
    return {dv, dweight, Tensor(), Tensor()};
  }
};

struct Rotate : Function<Rotate> {
  static Tensor turn(const Tensor& x, const Tensor& packed, bool inverse) {
    const Call& call = unpack(packed);
    Tensor out = at::empty_like(x);
    const mixer::Shape shape = make_shape(x, x, x);
    dispatch(x, [&](auto zero) {
      using Real = decltype(zero);
      mixer::rotate<Real>(*call.rows, shape, view<const Real>(x), view<Real>(out), inverse, call.execution);
    });
    return out;
  }
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& packed) {
    context->save_for_backward({packed});
    return turn(x, packed, false);
  }
  static tensor_list backward(AutogradContext* context, tensor_list gradients) {
    return {turn(gradients[0].contiguous(), context->get_saved_variables()[0], true), Tensor()};
  }
};

Call make_call(const LayerPlan& plan, const mixer::Plan& rows, const Run& run) {
  Call call;
  call.plan = &plan;
  call.rows = &rows;
  call.execution.threads = run.threads;
  call.execution.exact = run.exact;
  return call;
}

} // namespace

Tensor attend(const LayerPlan& plan, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
              const Tensor& sink, const Tensor& lengths, const Run& run, Tensor* attention) {
  if (run.dense_mixers || !q.is_cpu())
    return tensor_attend(plan, q, k, v, bias, sink, lengths, attention);
  const Call call = make_call(plan, *plan.plan, run);
  const Tensor query = q.contiguous(), key = k.contiguous(), value = v.contiguous();
  if (attention || !at::GradMode::is_enabled()) {
    const auto plain = [](const Tensor& t) { return t.defined() ? t.contiguous() : t; };
    return run_attention(call, query, key, value, plain(bias), plain(sink), plain(lengths), nullptr, attention);
  }
  return Attend::apply(query, key, value, or_empty(bias, q), or_empty(sink, q),
                       or_empty(lengths, at::empty({0}, at::kLong)), pack(call));
}

Tensor aggregate(const LayerPlan& plan, const mixer::Plan& rows, mixer::Aggregation aggregation, std::int64_t heads,
                 const Tensor& v, const Tensor& weight, const Tensor& lengths, const Run& run) {
  if (run.dense_mixers || !v.is_cpu())
    return tensor_aggregate(plan, rows, aggregation, heads, v, weight, lengths);
  Call call = make_call(plan, rows, run);
  call.aggregation = aggregation;
  call.heads = heads;
  return Aggregate::apply(v.contiguous(), or_empty(weight, v), or_empty(lengths, at::empty({0}, at::kLong)),
                          pack(call));
}

Tensor rotate(const LayerPlan& plan, const Tensor& x, const Run& run) {
  if (run.dense_mixers || !x.is_cpu())
    return tensor_rotate(plan, x);
  return Rotate::apply(x.contiguous(), pack(make_call(plan, *plan.plan, run)));
}

} // namespace sightline::train
