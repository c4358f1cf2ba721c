# find_package(samba [VERSION] [COMPONENTS companions])
#
# samba::samba       samba.h, with the threads and the libm that it is linked with
# samba::companions  and the headers in samba/, with those of their libraries that are found here;
#                    samba_companions_MISSING lists the others
#
# One source file of the program defines SAMBA_IMPLEMENTATION before it includes samba.h.
include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)
get_filename_component(samba_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET samba::samba)
  add_library(samba::samba INTERFACE IMPORTED)
  set_target_properties(samba::samba PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${samba_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads$<$<NOT:$<PLATFORM_ID:Windows>>:;m>")
endif()

# What a header of samba/ needs: a name, a header of it, its library, other folders of the header.
function(samba_look_for name header library folder)
  find_path(samba_${name}_INCLUDE ${header} PATH_SUFFIXES ${folder})
  find_library(samba_${name}_LIBRARY NAMES ${library} ${ARGN})
  mark_as_advanced(samba_${name}_INCLUDE samba_${name}_LIBRARY)
  if(samba_${name}_INCLUDE AND samba_${name}_LIBRARY)
    set_property(TARGET samba::companions APPEND PROPERTY
      INTERFACE_LINK_LIBRARIES "${samba_${name}_LIBRARY}")
    # Folders that compilers search anyway are left out: said twice, they change the order.
    if(NOT samba_${name}_INCLUDE IN_LIST CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES)
      set_property(TARGET samba::companions APPEND PROPERTY
        INTERFACE_INCLUDE_DIRECTORIES "${samba_${name}_INCLUDE}")
    endif()
  else()
    list(APPEND samba_companions_MISSING ${name})
    set(samba_companions_MISSING "${samba_companions_MISSING}" PARENT_SCOPE)
  endif()
endfunction()

if("companions" IN_LIST samba_FIND_COMPONENTS AND NOT TARGET samba::companions)
  add_library(samba::companions INTERFACE IMPORTED)
  set_property(TARGET samba::companions PROPERTY INTERFACE_LINK_LIBRARIES samba::samba)
  set(samba_companions_MISSING)
  samba_look_for(cJSON cjson/cJSON.h cjson "")            # safetensors.h, tokenizer.h, gpt2.h
  samba_look_for(utf8proc utf8proc.h utf8proc "")         # tokenizer.h
  samba_look_for(zlib zlib.h z "")                        # idx.h
  samba_look_for(HDF5 hdf5.h hdf5_serial hdf5/serial hdf5)                # hdf5_rows.h
  samba_look_for(protobuf-c protobuf-c/protobuf-c.h protobuf-c "")        # onnx_*.h
  if(samba_companions_MISSING AND NOT samba_FIND_QUIETLY)
    message(STATUS "samba::companions is without ${samba_companions_MISSING}: "
      "headers in samba/ that need it do not compile")
  endif()
endif()
if("companions" IN_LIST samba_FIND_COMPONENTS)
  set(samba_companions_FOUND TRUE)
endif()

# Another component is unknown.
foreach(component IN LISTS samba_FIND_COMPONENTS)
  if(samba_FIND_REQUIRED_${component} AND NOT samba_${component}_FOUND)
    set(samba_FOUND FALSE)
    set(samba_NOT_FOUND_MESSAGE "samba has no component ${component}; it has companions")
  endif()
endforeach()
