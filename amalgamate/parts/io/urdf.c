/* io/urdf: the elements of URDF that a tree has a place for, read from any text without recursion that the text could
   deepen. */
#include "private.h"

#ifndef CONDSIM_NO_URDF

enum { CSIMI_URDF_MOST = 1000 }; /* links, as in csim_tree_def */

/* ---- what is read */

typedef struct csimi_urdf_link {
    csimi_slice name;
    csim_mass mass;    /* link axes */
    int holder;        /* joint, -1: none */
    int target, place; /* index in the tree; in the order of the file's tree */
    csim_pose local;   /* in the target */
    const char *at;    /* in the text */
} csimi_urdf_link;

typedef struct csimi_urdf_joint {
    csimi_slice name, parent_name, child_name;
    int parent, child;
    csim_tree_joint kind;
    csim_pose origin;
    csim_vec3 axis;
    csim_real lower, upper, effort, damping, friction;
    const char *at;
} csimi_urdf_joint;

typedef struct csimi_urdf_shape {
    int link;
    csim_shape shape;
} csimi_urdf_shape;

typedef struct csimi_urdf_reader {
    csimi_mesh_reader r; /* text, heap and growing arrays */
    csimi_buffer links, joints, shapes;
    csimi_slice name;
    csimi_slice owner; /* the link or joint at work, for sentences */
    csim_urdf *robot;
    csim_urdf_options options;
} csimi_urdf_reader;

static csimi_urdf_link *csimi_urdf_links(csimi_urdf_reader *u) { return CSIMI_ITEMS(u->links, csimi_urdf_link); }
static csimi_urdf_joint *csimi_urdf_joints(csimi_urdf_reader *u) { return CSIMI_ITEMS(u->joints, csimi_urdf_joint); }

static size_t csimi_append_slice(char *out, size_t capacity, size_t n, csimi_slice s) {
    const char *end = s.end - s.begin > 40 ? s.begin + 40 : s.end;
    for (; s.begin < end && n + 1 < capacity; ++s.begin) out[n++] = *s.begin >= ' ' && *s.begin <= '~' ? *s.begin : '?';
    if (capacity > 0) out[n < capacity ? n : capacity - 1] = 0;
    return n;
}

/* "'LF_HAA' <origin>: what" */
static void csimi_urdf_sentence(csimi_urdf_reader *u, csimi_slice element, const char *what, char *out, size_t size) {
    size_t n = 0;
    if (u->owner.begin != u->owner.end) {
        n = csimi_append_text(out, size, n, "'");
        n = csimi_append_slice(out, size, n, u->owner);
        n = csimi_append_text(out, size, n, "' ");
    }
    n = csimi_append_text(out, size, n, "<");
    n = csimi_append_slice(out, size, n, element);
    n = csimi_append_text(out, size, n, ">: ");
    csimi_append_text(out, size, n, what);
}

static bool csimi_urdf_fail(csimi_urdf_reader *u, csim_status status, csimi_slice element, const char *what) {
    char sentence[200];
    if (element.begin) u->r.text.token = element.begin;
    csimi_urdf_sentence(u, element, what, sentence, sizeof sentence);
    return csimi_text_fail(&u->r.text, status, sentence);
}

static void csimi_urdf_warn(csimi_urdf_reader *u, csimi_slice element, const char *what) {
    if (u->robot->warnings++ == 0) csimi_urdf_sentence(u, element, what, u->robot->warning, sizeof u->robot->warning);
}

/* The next element inside parent; false when parent has ended or something failed. */
static bool csimi_urdf_child(csimi_urdf_reader *u, const csimi_xml_tag *parent, csimi_xml_tag *child) {
    csimi_text *t = &u->r.text;
    if (t->status != CSIM_OK || parent->empty) return false;
    if (!csimi_xml_next(t, child)) {
        if (t->status == CSIM_OK) csimi_urdf_fail(u, CSIM_PARSE_ERROR, parent->name, "the element does not end");
        return false;
    }
    if (!child->closing) return true;
    if (!csimi_slices_equal(child->name, parent->name))
        csimi_urdf_fail(u, CSIM_PARSE_ERROR, child->name, "closes another element than the one that is open");
    return false;
}

/* Passes over an element and all in it. */
static void csimi_urdf_skip(csimi_urdf_reader *u, const csimi_xml_tag *tag) {
    csimi_xml_tag inner;
    long depth = tag->empty ? 0 : 1;
    while (depth > 0 && csimi_xml_next(&u->r.text, &inner)) depth += inner.closing ? -1 : inner.empty ? 0 : 1;
    if (depth > 0) csimi_urdf_fail(u, CSIM_PARSE_ERROR, tag->name, "the element does not end");
}

static void csimi_urdf_unknown(csimi_urdf_reader *u, const csimi_xml_tag *tag) {
    static const char *const harmless[] = {
        "visual", "material", "gazebo", "transmission", "safety_controller", "calibration", "verbose",
        "self_collision_checking", "contact_coefficients"};
    size_t i;
    bool known = false;
    for (i = 0; i < sizeof harmless / sizeof harmless[0]; i++) known = known || csimi_slice_is(tag->name, harmless[i]);
    if (!known) csimi_urdf_warn(u, tag->name, "unknown element, passed over");
    csimi_urdf_skip(u, tag);
}

/* count numbers of an attribute; there is none: the values stay, and required says whether that is a failure. */
static bool csimi_urdf_numbers(csimi_urdf_reader *u, const csimi_xml_tag *tag, const char *name, int count,
                               csim_real *x, bool required) {
    csimi_text n = u->r.text;
    csimi_slice value = {NULL, NULL};
    char what[80];
    size_t length;
    int k;
    if (u->r.text.status != CSIM_OK) return false;
    length = csimi_append_text(what, sizeof what, 0, name);
    if (csimi_xml_attribute(tag, name, &value)) {
        n.at = n.token = value.begin;
        n.end = value.end;
        n.error = NULL;
        for (k = 0; k < count && n.status == CSIM_OK; k++) csimi_text_real(&n, x + k);
        csimi_text_space(&n);
        if (n.status == CSIM_OK && n.at == n.end) return true;
        csimi_append_text(what, sizeof what, length, count == 3 ? " must be three numbers" : " must be a number");
        return csimi_urdf_fail(u, CSIM_PARSE_ERROR, tag->name, what);
    }
    if (!required) return false;
    csimi_append_text(what, sizeof what, length, " is missing");
    return csimi_urdf_fail(u, CSIM_PARSE_ERROR, tag->name, what);
}

static csimi_slice csimi_urdf_name(csimi_urdf_reader *u, const csimi_xml_tag *tag, const char *attribute) {
    csimi_slice value = {NULL, NULL};
    if (!csimi_xml_attribute(tag, attribute, &value) || value.begin == value.end)
        csimi_urdf_fail(u, CSIM_PARSE_ERROR, tag->name, attribute[0] == 'n' ? "name is missing" : "link is missing");
    return value;
}

/* xyz and roll, pitch, yaw about fixed axes: R = Rz Ry Rx. */
static csim_pose csimi_urdf_origin(csimi_urdf_reader *u, const csimi_xml_tag *tag) {
    csim_pose pose = csim_pose_identity();
    csim_real xyz[3] = {0, 0, 0}, rpy[3] = {0, 0, 0};
    csimi_urdf_numbers(u, tag, "xyz", 3, xyz, false);
    csimi_urdf_numbers(u, tag, "rpy", 3, rpy, false);
    pose.position = csimi_load3(xyz);
    pose.rotation = csim_quat_mul(
        csim_quat_axis_angle(csim_v3(0, 0, 1), rpy[2]),
        csim_quat_mul(csim_quat_axis_angle(csim_v3(0, 1, 0), rpy[1]), csim_quat_axis_angle(csim_v3(1, 0, 0), rpy[0])));
    pose.rotation = csim_quat_normalize(pose.rotation);
    csimi_urdf_skip(u, tag);
    return pose;
}

/* ---- links */

/* R I R' */
static void csimi_turn_inertia(csim_quat q, csim_mat3 *I) {
    csim_mat3 R = csim_quat_matrix(q);
    csim_real T[9];
    csimi_matmul(R.m, I->m, T);
    csimi_matmulT(T, R.m, I->m);
    I->m[3] = I->m[1];
    I->m[6] = I->m[2];
    I->m[7] = I->m[5];
}

static void csimi_urdf_inertial(csimi_urdf_reader *u, const csimi_xml_tag *inertial, csim_mass *mass) {
    static const char *const name[6] = {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"};
    static const int at[6] = {0, 1, 2, 4, 5, 8}, mirror[6] = {0, 3, 6, 4, 7, 8};
    csim_pose origin = csim_pose_identity();
    csim_real x, eigenvalue[3], V[9];
    csimi_xml_tag tag;
    int k;
    while (csimi_urdf_child(u, inertial, &tag)) {
        if (csimi_slice_is(tag.name, "origin")) {
            origin = csimi_urdf_origin(u, &tag);
        } else if (csimi_slice_is(tag.name, "mass")) {
            if (csimi_urdf_numbers(u, &tag, "value", 1, &mass->mass, true) && !(mass->mass >= 0))
                csimi_urdf_fail(u, CSIM_OUT_OF_RANGE, tag.name, "value must be 0 or more");
            csimi_urdf_skip(u, &tag);
        } else if (csimi_slice_is(tag.name, "inertia")) {
            for (k = 0; k < 6; k++) {
                x = 0;
                csimi_urdf_numbers(u, &tag, name[k], 1, &x, k == 0 || k == 3 || k == 5);
                mass->inertia.m[at[k]] = mass->inertia.m[mirror[k]] = x;
            }
            csimi_eigen_sym3(mass->inertia.m, eigenvalue, V);
            if (eigenvalue[2] > 0 && !(eigenvalue[0] > 0))
                csimi_urdf_fail(u, CSIM_OUT_OF_RANGE, tag.name, "not positive definite");
            csimi_urdf_skip(u, &tag);
        } else {
            csimi_urdf_unknown(u, &tag);
        }
    }
    mass->centre = origin.position;
    csimi_turn_inertia(origin.rotation, &mass->inertia);
}

/* A primitive; false: there was none, or a mesh. */
static bool csimi_urdf_geometry(csimi_urdf_reader *u, const csimi_xml_tag *geometry, csim_shape *shape) {
    csim_real size[3] = {0, 0, 0}, radius = 0, length = 0;
    csimi_xml_tag tag;
    bool found = false;
    while (csimi_urdf_child(u, geometry, &tag)) {
        const bool box = csimi_slice_is(tag.name, "box"), sphere = csimi_slice_is(tag.name, "sphere");
        const bool cylinder = csimi_slice_is(tag.name, "cylinder"), capsule = csimi_slice_is(tag.name, "capsule");
        if (box && csimi_urdf_numbers(u, &tag, "size", 3, size, true))
            *shape = csim_box(csim_v3(size[0] / 2, size[1] / 2, size[2] / 2));
        if (sphere || cylinder || capsule) csimi_urdf_numbers(u, &tag, "radius", 1, &radius, true);
        if (cylinder || capsule) csimi_urdf_numbers(u, &tag, "length", 1, &length, true);
        if (sphere) *shape = csim_sphere(radius);
        if (cylinder) *shape = csim_cylinder(radius, length / 2);
        if (capsule) *shape = csim_capsule(radius, length / 2);
        if (csimi_slice_is(tag.name, "mesh")) csimi_urdf_warn(u, tag.name, "meshes are not loaded");
        found = found || box || sphere || cylinder || capsule;
        if ((box && !(size[0] > 0 && size[1] > 0 && size[2] > 0)) ||
            ((sphere || cylinder || capsule) && !(radius > 0)) || (cylinder && !(length > 0)) || length < 0)
            csimi_urdf_fail(u, CSIM_OUT_OF_RANGE, tag.name, "sizes must be above 0");
        if (box || sphere || cylinder || capsule || csimi_slice_is(tag.name, "mesh"))
            csimi_urdf_skip(u, &tag);
        else
            csimi_urdf_unknown(u, &tag);
    }
    return found;
}

static void csimi_urdf_collision(csimi_urdf_reader *u, const csimi_xml_tag *collision, int link) {
    csim_pose origin = csim_pose_identity();
    csim_shape shape;
    csimi_xml_tag tag;
    bool found = false;
    CSIMI_MEMSET(&shape, 0, sizeof shape);
    while (csimi_urdf_child(u, collision, &tag)) {
        if (csimi_slice_is(tag.name, "origin"))
            origin = csimi_urdf_origin(u, &tag);
        else if (csimi_slice_is(tag.name, "geometry"))
            found = csimi_urdf_geometry(u, &tag, &shape) || found;
        else
            csimi_urdf_unknown(u, &tag);
    }
    if (found) {
        csimi_urdf_shape *s = (csimi_urdf_shape *)csimi_buffer_push(&u->r, &u->shapes);
        if (!s) return;
        shape.local = origin;
        s->shape = shape;
        s->link = link;
    }
}

static void csimi_urdf_link_element(csimi_urdf_reader *u, const csimi_xml_tag *element) {
    const int index = (int)u->links.count;
    csimi_urdf_link *link;
    csim_mass mass;
    csimi_xml_tag tag;
    CSIMI_MEMSET(&mass, 0, sizeof mass);
    u->owner = csimi_urdf_name(u, element, "name");
    if (index >= CSIMI_URDF_MOST) csimi_urdf_fail(u, CSIM_UNSUPPORTED, element->name, "more than 1000 links");
    link = (csimi_urdf_link *)csimi_buffer_push(&u->r, &u->links);
    if (!link) return;
    link->name = u->owner;
    link->holder = -1;
    link->at = element->name.begin;
    while (csimi_urdf_child(u, element, &tag)) {
        if (csimi_slice_is(tag.name, "inertial"))
            csimi_urdf_inertial(u, &tag, &mass);
        else if (csimi_slice_is(tag.name, "collision"))
            csimi_urdf_collision(u, &tag, index);
        else
            csimi_urdf_unknown(u, &tag);
    }
    if (u->r.text.status == CSIM_OK) csimi_urdf_links(u)[index].mass = mass;
}

/* ---- joints */

static void csimi_urdf_limit(csimi_urdf_reader *u, const csimi_xml_tag *tag, csimi_urdf_joint *joint) {
    csim_real lower = 0, upper = 0;
    const bool has_lower = csimi_urdf_numbers(u, tag, "lower", 1, &lower, false);
    const bool has_upper = csimi_urdf_numbers(u, tag, "upper", 1, &upper, false);
    csimi_urdf_numbers(u, tag, "effort", 1, &joint->effort, false);
    if (has_lower || has_upper) {
        joint->lower = lower;
        joint->upper = upper;
        if (lower > upper) csimi_urdf_fail(u, CSIM_OUT_OF_RANGE, tag->name, "lower is above upper");
    }
    if (joint->effort < 0) csimi_urdf_fail(u, CSIM_OUT_OF_RANGE, tag->name, "effort must be 0 or more");
    csimi_urdf_skip(u, tag);
}

static void csimi_urdf_joint_part(csimi_urdf_reader *u, const csimi_xml_tag *tag, csimi_urdf_joint *joint) {
    csim_real x[3];
    if (csimi_slice_is(tag->name, "parent")) {
        joint->parent_name = csimi_urdf_name(u, tag, "link");
    } else if (csimi_slice_is(tag->name, "child")) {
        joint->child_name = csimi_urdf_name(u, tag, "link");
    } else if (csimi_slice_is(tag->name, "axis")) {
        if (csimi_urdf_numbers(u, tag, "xyz", 3, x, true)) joint->axis = csimi_load3(x);
        if (!(csim_length(joint->axis) > 0)) csimi_urdf_fail(u, CSIM_OUT_OF_RANGE, tag->name, "xyz is the zero vector");
    } else if (csimi_slice_is(tag->name, "dynamics")) {
        csimi_urdf_numbers(u, tag, "damping", 1, &joint->damping, false);
        csimi_urdf_numbers(u, tag, "friction", 1, &joint->friction, false);
        if (joint->damping < 0 || joint->friction < 0)
            csimi_urdf_fail(u, CSIM_OUT_OF_RANGE, tag->name, "damping and friction must be 0 or more");
    } else if (csimi_slice_is(tag->name, "origin")) {
        joint->origin = csimi_urdf_origin(u, tag);
        return;
    } else if (csimi_slice_is(tag->name, "limit")) {
        csimi_urdf_limit(u, tag, joint);
        return;
    } else {
        csimi_urdf_unknown(u, tag); /* mimic among them */
        return;
    }
    csimi_urdf_skip(u, tag);
}

static void csimi_urdf_joint_element(csimi_urdf_reader *u, const csimi_xml_tag *element) {
    static const char *const names[6] = {"fixed", "revolute", "continuous", "prismatic", "floating", "planar"};
    static const csim_tree_joint kinds[6] = {CSIM_TREE_FIXED,     CSIM_TREE_REVOLUTE, CSIM_TREE_REVOLUTE,
                                             CSIM_TREE_PRISMATIC, CSIM_TREE_FLOATING, CSIM_TREE_JOINT_COUNT_};
    csimi_urdf_joint joint, *kept;
    csimi_slice type = {NULL, NULL};
    csimi_xml_tag tag;
    int k;
    CSIMI_MEMSET(&joint, 0, sizeof joint);
    joint.name = u->owner = csimi_urdf_name(u, element, "name");
    joint.at = element->name.begin;
    joint.origin = csim_pose_identity();
    joint.axis = csim_v3(1, 0, 0);
    joint.lower = 1;
    joint.upper = -1;
    if (!csimi_xml_attribute(element, "type", &type))
        csimi_urdf_fail(u, CSIM_PARSE_ERROR, element->name, "type is missing");
    for (k = 0; k < 6 && !csimi_slice_is(type, names[k]); k++) {
    }
    if (k == 6) csimi_urdf_fail(u, CSIM_PARSE_ERROR, element->name, "type is none of URDF");
    if (k == 5) csimi_urdf_fail(u, CSIM_UNSUPPORTED, element->name, "planar joints are not supported");
    if (u->joints.count >= CSIMI_URDF_MOST)
        csimi_urdf_fail(u, CSIM_UNSUPPORTED, element->name, "more than 1000 joints");
    while (csimi_urdf_child(u, element, &tag)) csimi_urdf_joint_part(u, &tag, &joint);
    if (u->r.text.status != CSIM_OK) return;
    joint.kind = kinds[k];
    if (k == 2 || k == 0 || k == 4) { /* no range */
        joint.lower = 1;
        joint.upper = -1;
    }
    if (!joint.parent_name.begin || !joint.child_name.begin) {
        csimi_urdf_fail(u, CSIM_PARSE_ERROR, element->name, "needs a parent and a child");
        return;
    }
    kept = (csimi_urdf_joint *)csimi_buffer_push(&u->r, &u->joints);
    if (kept) *kept = joint;
}

static void csimi_urdf_read(csimi_urdf_reader *u) {
    csimi_text *t = &u->r.text;
    csimi_xml_tag root, tag;
    csimi_slice none = {NULL, NULL};
    if (!csimi_xml_next(t, &root) || root.closing || !csimi_slice_is(root.name, "robot")) {
        csimi_text_fail(t, CSIM_PARSE_ERROR, "expected <robot>");
        return;
    }
    csimi_xml_attribute(&root, "name", &u->name);
    while (csimi_urdf_child(u, &root, &tag)) {
        if (csimi_slice_is(tag.name, "link"))
            csimi_urdf_link_element(u, &tag);
        else if (csimi_slice_is(tag.name, "joint"))
            csimi_urdf_joint_element(u, &tag);
        else
            csimi_urdf_unknown(u, &tag);
        u->owner = none;
    }
    if (t->status == CSIM_OK && u->links.count == 0) csimi_urdf_fail(u, CSIM_PARSE_ERROR, root.name, "has no links");
}

/* ---- the tree */

static int csimi_urdf_link_named(csimi_urdf_reader *u, csimi_slice name) {
    int i;
    for (i = 0; i < (int)u->links.count; i++)
        if (csimi_slices_equal(csimi_urdf_links(u)[i].name, name)) return i;
    return -1;
}

static csimi_slice csimi_word(const char *text) {
    csimi_slice s;
    s.begin = s.end = text;
    while (*s.end) ++s.end;
    return s;
}

static bool csimi_urdf_complain(csimi_urdf_reader *u, const char *at, csimi_slice owner, const char *element,
                                csim_status status, const char *what) {
    char sentence[200];
    u->owner = owner;
    u->r.text.token = at;
    csimi_urdf_sentence(u, csimi_word(element), what, sentence, sizeof sentence);
    return csimi_text_fail(&u->r.text, status, sentence);
}

/* Names become indices; every link gets at most one holder, and one link has none: its index, or -1. */
static int csimi_urdf_connect(csimi_urdf_reader *u) {
    csimi_urdf_link *link = csimi_urdf_links(u);
    csimi_urdf_joint *joint = csimi_urdf_joints(u);
    int i, j, root = -1;
    for (i = 0; i < (int)u->links.count; i++)
        if ((j = csimi_urdf_link_named(u, link[i].name)) != i) {
            csimi_urdf_complain(u, link[i].at, link[i].name, "link", CSIM_PARSE_ERROR, "the name is used twice");
            return -1;
        }
    for (i = 0; i < (int)u->joints.count; i++) {
        csimi_urdf_joint *g = joint + i;
        g->parent = csimi_urdf_link_named(u, g->parent_name);
        g->child = csimi_urdf_link_named(u, g->child_name);
        if (g->parent < 0 || g->child < 0) {
            csimi_urdf_complain(u, g->at, g->name, "joint", CSIM_PARSE_ERROR, "names a link that is not there");
            return -1;
        }
        if (link[g->child].holder >= 0) {
            csimi_urdf_complain(u, g->at, g->name, "joint", CSIM_OUT_OF_RANGE,
                                "its child has another parent already: loops are no trees");
            return -1;
        }
        link[g->child].holder = i;
    }
    for (i = 0; i < (int)u->links.count; i++)
        if (link[i].holder < 0) {
            if (root >= 0) {
                csimi_urdf_complain(u, link[i].at, link[i].name, "link", CSIM_OUT_OF_RANGE,
                                    "is not connected to the rest: two roots");
                return -1;
            }
            root = i;
        }
    if (root < 0)
        csimi_urdf_complain(u, link[0].at, link[0].name, "link", CSIM_OUT_OF_RANGE, "every link has a parent: a loop");
    return root;
}

/* Numbers the links from the root on, parents first, into order; false when some are not reached: a loop. */
static bool csimi_urdf_order(csimi_urdf_reader *u, int root, int *order) {
    csimi_urdf_link *link = csimi_urdf_links(u);
    const csimi_urdf_joint *joint = csimi_urdf_joints(u);
    int count = 1, head, i;
    for (i = 0; i < (int)u->links.count; i++) link[i].place = -1;
    order[0] = root;
    link[root].place = 0;
    for (head = 0; head < count; head++)
        for (i = 0; i < (int)u->joints.count; i++)
            if (joint[i].parent == order[head] && link[joint[i].child].place < 0) {
                link[joint[i].child].place = count;
                order[count++] = joint[i].child;
            }
    for (i = 0; i < (int)u->links.count; i++)
        if (link[i].place < 0)
            return csimi_urdf_complain(u, link[i].at, link[i].name, "link", CSIM_OUT_OF_RANGE,
                                       "hangs on a loop, not on the root");
    return true;
}

/* A massless root that carries one link by a floating joint stands for the world: then that link is the root. */
static int csimi_urdf_world(csimi_urdf_reader *u, int root, bool *floating) {
    const csimi_urdf_joint *joint = csimi_urdf_joints(u);
    int i, only = -1, count = 0;
    for (i = 0; i < (int)u->joints.count; i++)
        if (joint[i].parent == root) {
            only = i;
            count++;
        }
    if (count != 1 || joint[only].kind != CSIM_TREE_FLOATING || csimi_urdf_links(u)[root].mass.mass > 0) return -1;
    *floating = true;
    return joint[only].child;
}

/* Targets: a link of its own for every joint that moves, the target of the parent for the others. Returns how many. */
static int csimi_urdf_targets(csimi_urdf_reader *u, const int *order, int base) {
    csimi_urdf_link *link = csimi_urdf_links(u);
    int i, count = 0;
    for (i = 0; i < (int)u->links.count; i++) {
        csimi_urdf_link *l = link + order[i];
        const csimi_urdf_joint *joint = l->holder >= 0 ? csimi_urdf_joints(u) + l->holder : NULL;
        l->local = csim_pose_identity();
        if (!joint || order[i] == base) {
            l->target = 0;
            count = 1;
        } else if (joint->kind == CSIM_TREE_FLOATING) {
            csimi_urdf_complain(u, joint->at, joint->name, "joint", CSIM_UNSUPPORTED,
                                "floating joints are supported at a massless root only");
            return 0;
        } else if (joint->kind == CSIM_TREE_FIXED) {
            l->target = link[joint->parent].target;
            l->local = csim_pose_mul(link[joint->parent].local, joint->origin);
        } else {
            l->target = count++;
        }
    }
    return count;
}

static char *csimi_urdf_copy(char **at, csimi_slice s) {
    char *start = *at;
    for (; s.begin < s.end; ++s.begin) *(*at)++ = *s.begin;
    *(*at)++ = 0;
    return start;
}

/* One link of the file into the definition of its target. */
static void csimi_urdf_fill(csimi_urdf_reader *u, csim_urdf *robot, const csimi_urdf_link *l, csim_mass *sum) {
    csim_tree_link_def *d = robot->links + l->target;
    csim_mass part = l->mass;
    if (part.mass > 0) {
        part.centre = csim_pose_point(l->local, part.centre);
        csimi_turn_inertia(l->local.rotation, &part.inertia);
        if (sum[l->target].mass > 0)
            csimi_add_mass(sum + l->target, &part);
        else
            sum[l->target] = part;
        robot->mass += part.mass;
    }
    if (l->holder >= 0 && l->target > 0 && csimi_urdf_joints(u)[l->holder].kind != CSIM_TREE_FIXED) {
        const csimi_urdf_joint *joint = csimi_urdf_joints(u) + l->holder;
        const csimi_urdf_link *parent = csimi_urdf_links(u) + joint->parent;
        d->parent = parent->target;
        d->joint = joint->kind;
        d->frame = csim_pose_mul(parent->local, joint->origin);
        d->axis = joint->axis;
        d->lower = joint->lower;
        d->upper = joint->upper;
        d->effort = u->options.ignore_effort ? 0 : joint->effort;
        d->damping = joint->damping;
        d->friction = joint->friction;
    }
}

static void csimi_urdf_fill_shapes(csimi_urdf_reader *u, csim_urdf *robot, csim_shape *shapes) {
    const csimi_urdf_shape *shape = CSIMI_ITEMS(u->shapes, csimi_urdf_shape);
    int i, target, at = 0;
    for (target = 0; target < robot->def.link_count; target++) {
        robot->links[target].shapes = shapes + at;
        for (i = 0; i < (int)u->shapes.count; i++) {
            const csimi_urdf_link *l = csimi_urdf_links(u) + shape[i].link;
            if (l->target != target) continue;
            shapes[at] = shape[i].shape;
            shapes[at].local = csim_pose_mul(l->local, shape[i].shape.local);
            at++;
            robot->links[target].shape_count++;
        }
    }
}

/* Lays the robot out in arena; counts when the arena counts. */
static void csimi_urdf_layout(csimi_urdf_reader *u, csimi_arena *arena, int count, csim_urdf *robot,
                              csim_shape **shapes, csim_mass **sum, char **names) {
    size_t bytes = (size_t)(u->name.end - u->name.begin) + 1, i;
    for (i = 0; i < u->links.count; i++) {
        csimi_slice s = csimi_urdf_links(u)[i].name;
        bytes += (size_t)(s.end - s.begin) + 2;
    }
    for (i = 0; i < u->joints.count; i++) {
        csimi_slice s = csimi_urdf_joints(u)[i].name;
        bytes += (size_t)(s.end - s.begin) + 1;
    }
    robot->links = CSIMI_PUSH(arena, csim_tree_link_def, count);
    robot->frames = CSIMI_PUSH(arena, csim_urdf_frame, u->links.count);
    *shapes = CSIMI_PUSH(arena, csim_shape, u->shapes.count + 1);
    *sum = CSIMI_PUSH(arena, csim_mass, count);
    *names = CSIMI_PUSH(arena, char, bytes);
}

static bool csimi_urdf_build(csimi_urdf_reader *u, const int *order, int count, bool floating, csim_urdf *robot) {
    csimi_arena arena = csimi_arena_counting();
    csim_shape *shapes;
    csim_mass *sum;
    char *names;
    int i;
    csimi_slice none = {"", ""};
    csimi_urdf_layout(u, &arena, count, robot, &shapes, &sum, &names);
    robot->block_size = arena.used;
    robot->block = csimi_heap_alloc(&u->r.heap, arena.used);
    if (!robot->block) return csimi_text_fail(&u->r.text, CSIM_OUT_OF_MEMORY, csim_status_text(CSIM_OUT_OF_MEMORY));
    arena = csimi_arena_in(robot->block, robot->block_size);
    csimi_urdf_layout(u, &arena, count, robot, &shapes, &sum, &names);
    robot->def = csim_default_tree_def();
    robot->def.links = robot->links;
    robot->def.link_count = count;
    robot->frame_count = (int)u->links.count;
    robot->name = csimi_urdf_copy(&names, u->name);
    CSIMI_MEMSET(sum, 0, (size_t)count * sizeof *sum);
    for (i = 0; i < count; i++) robot->links[i] = csim_default_tree_link_def();
    robot->links[0].joint = floating ? CSIM_TREE_FLOATING : CSIM_TREE_FIXED;
    for (i = 0; i < robot->frame_count; i++) {
        const csimi_urdf_link *l = csimi_urdf_links(u) + order[i];
        csim_urdf_frame *f = robot->frames + i;
        f->name = csimi_urdf_copy(&names, l->name);
        f->joint = csimi_urdf_copy(&names, l->holder >= 0 ? csimi_urdf_joints(u)[l->holder].name : none);
        f->link = l->target;
        f->local = l->local;
        csimi_urdf_fill(u, robot, l, sum);
    }
    for (i = 0; i < count; i++) {
        robot->links[i].mass = sum[i].mass;
        robot->links[i].centre = sum[i].centre;
        robot->links[i].inertia = sum[i].inertia;
    }
    csimi_urdf_fill_shapes(u, robot, shapes);
    return true;
}

/* From what was read to the robot. */
static void csimi_urdf_finish(csimi_urdf_reader *u, csim_urdf *robot) {
    const size_t bytes = u->links.count * sizeof(int);
    bool floating = u->options.floating;
    int root = csimi_urdf_connect(u), base, count, *order;
    if (root < 0) return;
    order = (int *)csimi_heap_alloc(&u->r.heap, bytes);
    if (!order) {
        csimi_text_fail(&u->r.text, CSIM_OUT_OF_MEMORY, csim_status_text(CSIM_OUT_OF_MEMORY));
        return;
    }
    base = csimi_urdf_world(u, root, &floating);
    if (csimi_urdf_order(u, root, order) && (count = csimi_urdf_targets(u, order, base)) > 0)
        (void)csimi_urdf_build(u, order, count, floating, robot);
    csimi_heap_free(&u->r.heap, order, bytes);
}

/* Reads u->r.text, gives back all working memory. */
static csim_status csimi_urdf_run(csimi_urdf_reader *u, csim_urdf *robot) {
    csim_status status;
    u->links.stride = sizeof(csimi_urdf_link);
    u->joints.stride = sizeof(csimi_urdf_joint);
    u->shapes.stride = sizeof(csimi_urdf_shape);
    u->name.begin = u->name.end = "";
    u->robot = robot;
    csimi_urdf_read(u);
    if (u->r.text.status == CSIM_OK) csimi_urdf_finish(u, robot);
    csimi_buffer_free(&u->r, &u->links);
    csimi_buffer_free(&u->r, &u->joints);
    csimi_buffer_free(&u->r, &u->shapes);
    status = u->r.text.status;
    robot->allocator = u->r.heap.hooks;
    if (status != CSIM_OK) CSIMI_MEMSET(robot, 0, sizeof *robot);
    return status;
}

static csim_status csimi_urdf_begin(csimi_urdf_reader *u, const char *name, const void *input, const char *field,
                                    const csim_urdf_options *options, const csim_allocator *allocator, csim_urdf *robot,
                                    csim_error *error) {
    if (error) {
        error->status = CSIM_OK;
        error->text[0] = 0;
    }
    if (!robot) return csimi_deny(error, CSIM_NULL_ARGUMENT, name, "robot", NULL);
    CSIMI_MEMSET(robot, 0, sizeof *robot);
    if (!input) return csimi_deny(error, CSIM_NULL_ARGUMENT, name, field, NULL);
    CSIMI_MEMSET(u, 0, sizeof *u);
    csimi_reader_open(&u->r, allocator);
    if (options) u->options = *options;
    return CSIM_OK;
}

CSIM_API csim_status csim_urdf_load_text(const char *text, size_t size, const csim_urdf_options *options,
                                         const csim_allocator *allocator, csim_urdf *robot, csim_error *error) {
    csimi_urdf_reader u;
    csim_status status = csimi_urdf_begin(&u, "csim_urdf_load_text", text, "text", options, allocator, robot, error);
    if (status != CSIM_OK) return status;
    u.r.text = csimi_text_of("csim_urdf_load_text", text, size, error);
    return csimi_urdf_run(&u, robot);
}

#ifndef CONDSIM_NO_STDIO
CSIM_API csim_status csim_urdf_load_file(const char *path, const csim_urdf_options *options,
                                         const csim_allocator *allocator, csim_urdf *robot, csim_error *error) {
    csimi_urdf_reader u;
    csimi_buffer file;
    csim_status status = csimi_urdf_begin(&u, "csim_urdf_load_file", path, "path", options, allocator, robot, error);
    if (status != CSIM_OK) return status;
    CSIMI_MEMSET(&file, 0, sizeof file);
    file.stride = 1;
    status = csimi_open_text(&u.r, path, &file, error) ? csimi_urdf_run(&u, robot) : u.r.text.status;
    csimi_buffer_free(&u.r, &file);
    return status;
}
#endif

CSIM_API int csim_urdf_find(const csim_urdf *robot, const char *link_name) {
    int i, k;
    for (i = 0; robot && link_name && i < robot->frame_count; i++) {
        const char *name = robot->frames[i].name;
        for (k = 0; name[k] && name[k] == link_name[k]; k++) {
        }
        if (name[k] == link_name[k]) return robot->frames[i].link;
    }
    return -1;
}

CSIM_API void csim_urdf_free(csim_urdf *robot) {
    csimi_heap heap;
    if (!robot) return;
    CSIMI_MEMSET(&heap, 0, sizeof heap);
    heap.hooks = robot->allocator;
    heap.held = robot->block_size;
    if (robot->block) csimi_heap_free(&heap, robot->block, robot->block_size);
    CSIMI_MEMSET(robot, 0, sizeof *robot);
}

#endif
