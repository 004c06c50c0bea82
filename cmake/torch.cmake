# LibTorch as one target, sightline_torch: Debian's libtorch-dev, or any PyTorch 2.x named by -DSIGHTLINE_TORCH=.../site-packages/torch.
set(SIGHTLINE_TORCH "" CACHE PATH "The torch folder of a PyTorch 2.x installation (empty: the system's LibTorch)")
if(SIGHTLINE_TORCH)
  # Both are needed: with only the first, a libc10 of the system is found before the folder's own, and the program aborts.
  list(PREPEND CMAKE_PREFIX_PATH ${SIGHTLINE_TORCH}/share/cmake ${SIGHTLINE_TORCH})
endif()
# Torch's own files warn and print: what they say is not news of ours.
set(CMAKE_WARN_DEPRECATED OFF CACHE INTERNAL "")
# A CUDA LibTorch asks for which GPU to compile, by building and running a program. No file of ours is CUDA: any answer will do.
if(NOT DEFINED ENV{TORCH_CUDA_ARCH_LIST} AND NOT DEFINED TORCH_CUDA_ARCH_LIST)
  set(TORCH_CUDA_ARCH_LIST 8.0)
endif()
find_package(Torch REQUIRED QUIET)
add_library(sightline_torch INTERFACE)
target_include_directories(sightline_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(sightline_torch INTERFACE ${TORCH_LIBRARIES})
# The library decides which std::string everybody uses; TORCH_CXX_FLAGS holds -D_GLIBCXX_USE_CXX11_ABI=...
separate_arguments(sightline_torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(sightline_torch INTERFACE ${sightline_torch_flags})
if(sightline_torch_flags MATCHES "USE_CXX11_ABI=0")
  message(FATAL_ERROR "this PyTorch was built with the old std::string (_GLIBCXX_USE_CXX11_ABI=0): the system's libraries use the new one")
endif()
# c10d's header of Gloo needs Gloo's own headers. PyTorch's wheels hold none: there processes exchange gradients through c10d's store.
if(SIGHTLINE_TORCH)
  set(sightline_gloo ${SIGHTLINE_TORCH}/include/gloo/rendezvous/store.h)
else()
  set(sightline_gloo /usr/include/gloo/rendezvous/store.h)
endif()
if(EXISTS ${sightline_gloo})
  target_compile_definitions(sightline_torch INTERFACE SIGHTLINE_GLOO USE_C10D_GLOO)
endif()
# A CUDA LibTorch: processes with a GPU each exchange gradients by NCCL where its header is found (PyTorch's wheels keep it beside the torch folder).
if(TARGET torch_cuda)
  find_path(SIGHTLINE_NCCL nccl.h HINTS ${SIGHTLINE_TORCH}/../nvidia/nccl/include)
  find_path(sightline_c10d_nccl torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp HINTS ${TORCH_INCLUDE_DIRS})
  if(SIGHTLINE_NCCL AND sightline_c10d_nccl)
    target_compile_definitions(sightline_torch INTERFACE SIGHTLINE_NCCL USE_C10D_NCCL)
    target_include_directories(sightline_torch SYSTEM INTERFACE ${SIGHTLINE_NCCL})
  endif()
endif()
# A wheel's headers hold another version of fmt, found before the system's: without a library to link, its functions come with it.
if(SIGHTLINE_TORCH AND EXISTS ${SIGHTLINE_TORCH}/include/fmt)
  target_compile_definitions(sightline_torch INTERFACE FMT_HEADER_ONLY)
endif()
