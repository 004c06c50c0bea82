# The fast implementation. The kernels are one source compiled once per instruction set, each alone and with its own flags; which of
# them runs is decided at run time (dispatch.cpp).
set(MIXER_CPU_SOURCES cpu/aggregate.cpp cpu/aggregate_exact.cpp cpu/attend.cpp cpu/colours.cpp cpu/dispatch.cpp cpu/exact.cpp cpu/feature_call.cpp cpu/forward.cpp cpu/heads.cpp cpu/kernels_generic.cpp cpu/largest.cpp cpu/mapped.cpp cpu/pool.cpp cpu/program.cpp cpu/rings.cpp cpu/rotate.cpp cpu/sparse_backward.cpp cpu/tiles.cpp cpu/twins.cpp cpu/whole_reads.cpp)
# -O3 takes nearly twice as long to compile and its kernels are no faster: what they need of it are loops of known length laid out,
# loops split by what does not change in them, and plain loops in vectors.
set(kernel_level -O3)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12)  # from there on -O2 puts loops in vectors
  set(kernel_level -O2 -fpeel-loops -funswitch-loops -fvect-cost-model=dynamic)
endif()
# GCC 12 takes what its own intrinsics leave undefined for numbers that were forgotten.
set(kernel_flags ${kernel_level} -ffp-contract=off -Wno-aggressive-loop-optimizations -Wno-maybe-uninitialized -Wno-uninitialized -Wno-psabi)
set_source_files_properties(cpu/kernels_generic.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${kernel_flags}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  list(APPEND MIXER_CPU_SOURCES cpu/kernels_avx2.cpp cpu/kernels_avx512.cpp)
  set_source_files_properties(cpu/kernels_avx2.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "${kernel_flags};-mavx2;-mfma")
  set_source_files_properties(cpu/kernels_avx512.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS "${kernel_flags};-mavx512f;-mavx512dq;-mavx512bw;-mavx512vl;-mfma;-mprefer-vector-width=512")
  set_source_files_properties(cpu/dispatch.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON COMPILE_DEFINITIONS SIGHTLINE_MIXER_X86)
endif()
