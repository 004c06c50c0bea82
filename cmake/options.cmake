# Flags that every target of the project shares, as one interface target.
add_library(sightline_options INTERFACE)
target_compile_features(sightline_options INTERFACE cxx_std_20)
target_compile_options(sightline_options INTERFACE -Wall -Wextra -Wpedantic -Wno-missing-field-initializers)
target_include_directories(sightline_options INTERFACE ${PROJECT_SOURCE_DIR})
if(SIGHTLINE_SANITIZE)
  target_compile_options(sightline_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(sightline_options INTERFACE -fsanitize=address,undefined)
endif()
