# Which room of the library may include which: written once, here. `scripts/check_rooms.py` compares it
# with the includes that are really there.
set(SIGHTLINE_ROOM_base "")
set(SIGHTLINE_ROOM_group "base")
set(SIGHTLINE_ROOM_layout "base")
set(SIGHTLINE_ROOM_symmetry "base;group;layout")
set(SIGHTLINE_ROOM_sight "base;group;layout;symmetry")
set(SIGHTLINE_ROOM_attention_kernel "base")
set(SIGHTLINE_ROOM_architecture "base;group;layout;attention_kernel")
set(SIGHTLINE_ROOM_huggingface "base;layout;architecture;attention_kernel")
set(SIGHTLINE_ROOM_verdict "base;group;layout;symmetry;sight;attention_kernel;architecture")
set(SIGHTLINE_ROOM_certificate "base;group;layout;symmetry;sight;attention_kernel;architecture;verdict")
set(SIGHTLINE_ROOM_falsify "base;group;attention_kernel")
set(SIGHTLINE_ROOM_report "base;group;layout;sight;architecture;verdict")

# sightline_room(<name> SOURCES <files> [LIBRARIES <targets>]): one static library per room.
function(sightline_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(sightline_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(sightline_${name} PUBLIC sightline_options ${ROOM_LIBRARIES})
  foreach(room IN LISTS SIGHTLINE_ROOM_${name})
    target_link_libraries(sightline_${name} PUBLIC sightline_${room})
  endforeach()
endfunction()
