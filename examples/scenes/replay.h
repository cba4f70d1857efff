/* replay: records a motion and writes it as one HTML page that plays it in 3-D, with plots. Knows nothing of
   condsim.h: floats, ints and text come in, a file goes out.

       replay *r = replay_open("index.html", "Two boxes", 60);
       replay_mesh box;
       replay_mesh_box(&box, 0.1f, 0.1f, 0.1f);
       int id = replay_piece(r, "box", REPLAY_AUTO, &box);
       replay_mesh_free(&box);
       ... per step:   replay_step(r, &values);              the plots have every step,
                       if (replay_due(r, time)) {            the picture has 60 frames a second
                           replay_frame(r, time);
                           replay_pose(r, id, position, quaternion);
                           replay_contact(r, point, force, REPLAY_STICK);
                       }
       replay_fact(r, "contacts at the end", "%d", count);
       if (replay_close(r, error, sizeof error) != 0) puts(error);

   Everything is in SI units, right-handed, z up. Quaternions are (w, x, y, z). The first failure is kept: later calls
   do nothing and return it again, replay_close reports it, so that a caller may look at the end only. Functions
   return >= 0 when all is well and one of the negative codes below otherwise. A NULL replay is an out-of-memory one. */
#ifndef REPLAY_H
#define REPLAY_H

#include <stddef.h>

enum {
    REPLAY_NO_MEMORY = -1,
    REPLAY_NO_FILE = -2,   /* cannot be opened or written */
    REPLAY_BAD_CALL = -3,  /* unknown id, index out of range, piece added after the first frame */
    REPLAY_NOT_FINITE = -4 /* a position that is NaN or infinite */
};

/* A colour is 0xRRGGBB or one of these. AUTO: the page picks one; a piece that never moves counts as fixed when others
   do. FIXED: a piece of the surroundings, grey, not in the way of the first view; walls become glass. */
enum { REPLAY_AUTO = -1, REPLAY_FIXED = -2 };
enum { REPLAY_OPEN, REPLAY_STICK, REPLAY_SLIP }; /* state of a contact */

/* Triangles, counter-clockwise seen from outside. The page finds creases itself: share vertices freely. */
typedef struct replay_mesh {
    int vertex_count, triangle_count;
    float *vertex; /* 3 a vertex, m */
    int *triangle; /* 3 indices a triangle */
} replay_mesh;

/* Makers of meshes, centred at the origin, axis along z. On failure the mesh is empty. */
int replay_mesh_box(replay_mesh *mesh, float half_x, float half_y, float half_z);
int replay_mesh_sphere(replay_mesh *mesh, float radius);
int replay_mesh_capsule(replay_mesh *mesh, float radius, float half_height); /* half_height: of its segment */
int replay_mesh_cylinder(replay_mesh *mesh, float radius, float half_height);
/* Convex hull of 4 to 256 points, not all in one plane; coplanar points make one flat polygon. */
int replay_mesh_hull(replay_mesh *mesh, const float *points, int count);
/* Where a signed distance is 0 in a box, by a grid of so many cells along its longest side (2 to 256), one more around
   it. A box without such a place gives REPLAY_BAD_CALL. */
typedef double replay_distance(const void *user, const float point[3]);
int replay_mesh_level(replay_mesh *mesh, replay_distance *distance, const void *user, const float low[3],
                      const float high[3], int cells);
int replay_mesh_copy(replay_mesh *mesh, const float *vertex, int vertex_count, const int *triangle, int triangle_count);
/* Appends another mesh, placed at a pose (position may be NULL: as it is): for bodies of several shapes. */
int replay_mesh_add(replay_mesh *mesh, const replay_mesh *other, const float *position, const float *quaternion);
void replay_mesh_free(replay_mesh *mesh);

typedef struct replay replay;

/* Opens the file at once, so that a wrong path shows before the simulation; NULL only without memory.
   frame_rate: frames per simulated second that replay_due asks for. */
replay *replay_open(const char *path, const char *title, double frame_rate);

/* What the page says beside the picture. note: one sentence. tolerance: line in the residual plot, 0 for none.
   fact: a row of the summary, value in printf format. camera: first view (else: all in sight). */
int replay_note(replay *r, const char *note);
int replay_tolerance(replay *r, double tolerance);
int replay_fact(replay *r, const char *name, const char *format, ...);
int replay_camera(replay *r, const float eye[3], const float target[3]);

/* The cast, before the first frame. Equal meshes are stored once, so a thousand equal boxes are cheap.
   The ids that piece, surface and points return are counted separately. A surface may have vertices that no triangle
   uses (the inner nodes of a solid): they are passed in every frame but not stored. */
int replay_floor(replay *r, const float point[3], const float normal[3]);
int replay_piece(replay *r, const char *name, int colour, const replay_mesh *mesh);
int replay_surface(replay *r, const char *name, int colour, int vertex_count, const int *triangle, int triangle_count);
int replay_points(replay *r, const char *name, int colour, int count, float radius);

/* One call a simulated step; fields that make no sense may be NaN: the plots leave them out. */
typedef struct replay_values {
    double time;        /* s */
    double residual;    /* the certificate, relative */
    double penetration; /* deepest, m */
    double kinetic;     /* J */
    double potential;   /* gravity and elastic, J */
    double contacts;    /* number of them */
    double iterations;
    double solve_ms;    /* wall time of the solver, ms */
} replay_values;
int replay_step(replay *r, const replay_values *values);

/* One frame: begin it, then set what moved (the rest stays where it was). due: 1 when a frame should be
   recorded at this time (s). force: N, on the body one looks at. */
int replay_due(const replay *r, double time);
int replay_frame(replay *r, double time);
int replay_pose(replay *r, int piece, const float position[3], const float quaternion[4]);
int replay_surface_vertices(replay *r, int surface, const float *vertex); /* 3 a vertex, m */
int replay_point_positions(replay *r, int points, const float *position);
int replay_contact(replay *r, const float point[3], const float force[3], int state);

/* At most this many contacts a frame are kept for the picture, evenly picked; the page says so. Default 4000. */
int replay_contact_limit(replay *r, int limit);

/* Writes the page and frees everything, in any case. error may be NULL; else the sentence of the first failure. */
int replay_close(replay *r, char *error, size_t error_size);

#endif
