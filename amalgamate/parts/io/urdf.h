/* io/urdf: robots described in URDF, as definitions of trees. */
#ifndef CSIM_URDF_H
#define CSIM_URDF_H

#include "../world/tree.h"

#ifndef CONDSIM_NO_URDF

#ifdef CONDSIM_FLOAT
#define csim_urdf_load_text csim_urdf_load_text_float
#define csim_urdf_load_file csim_urdf_load_file_float
#endif

/* Where a link of the file went. Links on fixed joints are welded into the link that carries them. */
typedef struct csim_urdf_frame {
    const char *name;  /* of the link in the file */
    const char *joint; /* that holds it; "" for the root */
    int link;          /* index in def.links */
    csim_pose local;   /* axes of the file's link in those of that link */
} csim_urdf_frame;

/* What to make of a file. */
typedef struct csim_urdf_options {
    bool floating;      /* the root is free (CSIM_TREE_FLOATING); default: it is fixed to the world */
    bool ignore_effort; /* leave out the limits of effort, which cost a coordinate each in every step */
} csim_urdf_options;

/* A robot. Everything it points to lies in one block, freed by csim_urdf_free. */
typedef struct csim_urdf {
    const char *name;
    csim_tree_def
        def; /* as made by csim_default_tree_def, with its links; change what you like, then csim_create_tree */
    csim_tree_link_def *links; /* def.links, to be changed in place */
    csim_urdf_frame *frames;   /* [frame_count] the links of the file, parents first */
    int frame_count;
    csim_real mass;    /* kg, of all links */
    int warnings;      /* elements passed over that might matter ... */
    char warning[240]; /* ... and a sentence about the first */
    void *block;
    size_t block_size;
    csim_allocator allocator;
} csim_urdf;

/* Reads a robot from text [size] (any bytes are safe). Links with inertia and primitive collision geometry (box,
   cylinder, sphere, capsule; meshes are passed over with a warning), joints of the kinds fixed, revolute, continuous,
   prismatic and floating (at the root), with origin, axis, limit (range, effort) and dynamics. Visuals, materials,
   transmissions and gazebo elements are passed over; other unknown elements and mimic with a warning. Drives have no
   gains yet: csim_tree_set_drive. options and allocator may be null. On CSIM_OK the robot belongs to the caller:
   csim_urdf_free. On failure *robot is all zero, nothing stays allocated, and error (may be null) holds
   "csim_urdf_load_text: line 12: reason" with the element: CSIM_NULL_ARGUMENT, CSIM_PARSE_ERROR, CSIM_UNSUPPORTED,
   CSIM_OUT_OF_RANGE (negative inertia, a loop, two parents), CSIM_OUT_OF_MEMORY. */
CSIM_API csim_status csim_urdf_load_text(const char *text, size_t size, const csim_urdf_options *options,
                                         const csim_allocator *allocator, csim_urdf *robot, csim_error *error);
#ifndef CONDSIM_NO_STDIO
/* The same for a file; errors begin with the path. CSIM_FILE_ERROR when it cannot be read. */
CSIM_API csim_status csim_urdf_load_file(const char *path, const csim_urdf_options *options,
                                         const csim_allocator *allocator, csim_urdf *robot, csim_error *error);
#endif
/* The link that the file's link of this name went to; -1: none of this name. */
CSIM_API int csim_urdf_find(const csim_urdf *robot, const char *link_name);
/* Gives back what the loader allocated and sets everything to zero; robot may be null. */
CSIM_API void csim_urdf_free(csim_urdf *robot);

#endif
#endif
