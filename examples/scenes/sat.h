/* sat: exact depth of two convex bodies by separating axes, written apart from the library's collision so that the
   scenes can check it. Faces and edges come from the points by trying all triples, so it is for small bodies. */
#ifndef SAT_H
#define SAT_H

typedef struct sat_shape {
    double radius; /* > 0: a sphere, nothing else is used */
    double bound;  /* of a sphere about the origin that holds the shape */
    int point_count, normal_count, edge_count;
    double (*point)[3];  /* body axes; all three arrays lie in one block */
    double (*normal)[3]; /* one of each pair of opposite or equal face normals, unit */
    double (*edge)[3];   /* one of each set of parallel edges, unit */
} sat_shape;

typedef struct sat_pose {
    double position[3];
    double rotation[4]; /* quaternion w x y z */
} sat_pose;

int sat_from_points(sat_shape *shape, double (*points)[3], int count); /* 0: out of memory */
void sat_sphere(sat_shape *shape, double radius);
void sat_free(sat_shape *shape);

/* Depth of the overlap in m; negative: apart, and the number is then a lower bound of the distance, or -1 when the
   bounding spheres are apart. */
double sat_depth(const sat_shape *a, const sat_pose *pose_a, const sat_shape *b, const sat_pose *pose_b);
/* Depth below the plane z = 0. */
double sat_floor_depth(const sat_shape *a, const sat_pose *pose);

#endif
