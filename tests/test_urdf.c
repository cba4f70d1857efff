/* The URDF reader: a real robot, small texts with known answers, every mistake named, and damaged texts. */
#include "check.h"
#include <math.h>

static const char *real_path = "../shared/real/robots/anymal.urdf";

static csim_status load(const char *text, csim_urdf *robot, csim_error *error) {
    csim_urdf_options options;
    memset(&options, 0, sizeof options);
    return csim_urdf_load_text(text, strlen(text), &options, NULL, robot, error);
}

NEEDS("../shared/real/robots/anymal.urdf", anymal_weighs_33_95_kg_and_has_18_degrees_of_freedom) {
    csim_urdf_options options;
    csim_urdf robot;
    csim_error error;
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    csim_body_id id;
    csim_real M[18 * 18];
    csim_pose pose;
    csim_mass mass;
    int links = 0, positions = 0, rates = 0, i;
    memset(&options, 0, sizeof options);
    options.floating = true;
    STATUS(csim_urdf_load_file(real_path, &options, NULL, &robot, &error), CSIM_OK);
    printf("    %s: %.4f kg, %d links from %d, %d warnings (%s)\n", robot.name, (double)robot.mass,
           robot.def.link_count, robot.frame_count, robot.warnings, robot.warning);
    NEAR(robot.mass, 33.95, 0.005);
    EQUAL(robot.def.link_count, 13);
    CHECK(strcmp(robot.name, "anymal") == 0);
    EQUAL(csim_urdf_find(&robot, "nobody"), -1);
    STATUS(csim_create_world(&d, &w, &error), CSIM_OK);
    STATUS(csim_create_tree(w, &robot.def, &id), CSIM_OK);
    STATUS(csim_tree_sizes(w, id, &links, &positions, &rates), CSIM_OK);
    EQUAL(rates, 18);
    EQUAL(positions, 19);
    csim_body_get_mass(w, id, &mass);
    NEAR(mass.mass, robot.mass, 1e-4);
    STATUS(csim_tree_mass_matrix(w, id, M), CSIM_OK);
    for (i = 0; i < 3; i++) NEAR(M[19 * i] / robot.mass, 1, TOL(1e-12, 1e-5));
    /* every limb hangs where the file says: the foot in front on the left, x forward, z up; all angles zero */
    i = csim_urdf_find(&robot, "LF_SHANK");
    CHECK(i > 0);
    csim_tree_link_pose(w, id, i, &pose);
    CHECK(pose.position.x > 0.2 && pose.position.y > 0.1 && pose.position.z < -0.2);
    csim_destroy_world(w);
    csim_urdf_free(&robot);
    csim_urdf_free(&robot);
}

static const char arm[] =
    "<?xml version='1.0'?>\n<!-- two links -->\n<robot name=\"arm\">\n"
    " <material name='x'><color rgba='1 1 1 1'/></material>\n"
    " <link name='base'/>\n"
    " <link name='upper'>\n"
    "  <inertial><origin xyz='0 0 0.1' rpy='0 0 1.5707963267948966'/><mass value='2'/>\n"
    "   <inertia ixx='0.1' ixy='0' ixz='0' iyy='0.2' iyz='0' izz='0.3'/></inertial>\n"
    "  <collision><origin xyz='0 0 0.1'/><geometry><box size='0.2 0.4 0.6'/></geometry></collision>\n"
    " </link>\n"
    " <link name='plate'><inertial><mass value='1'/><inertia ixx='0.1' iyy='0.1' izz='0.1'/></inertial>\n"
    "  <collision><geometry><cylinder radius='0.1' length='0.5'/></geometry></collision></link>\n"
    " <link name='tip'><inertial><mass value='1'/><inertia ixx='0.1' iyy='0.1' izz='0.1'/></inertial>\n"
    "  <collision><geometry><sphere radius='0.05'/></geometry></collision></link>\n"
    " <joint name='j1' type='revolute'><parent link='base'/><child link='upper'/><origin xyz='0 0 1' rpy='0 0 0'/>\n"
    "  <axis xyz='0 0 2'/><limit lower='-1' upper='2' effort='7' velocity='3'/><dynamics damping='0.5' "
    "friction='0.25'/>"
    "</joint>\n"
    " <joint name='weld' type='fixed'><parent link='upper'/><child link='plate'/><origin xyz='0 0 0.3'/></joint>\n"
    " <joint name='j2' type='prismatic'><parent link='plate'/><child link='tip'/><origin xyz='0 0 0.2'/>\n"
    "  <axis xyz='1 0 0'/><limit lower='0' upper='0.1' effort='1' velocity='1'/></joint>\n"
    "</robot>\n";

TEST(small_robot_has_the_numbers_of_its_text) {
    csim_urdf robot;
    csim_error error;
    STATUS(load(arm, &robot, &error), CSIM_OK);
    EQUAL(robot.def.link_count, 3);
    EQUAL(robot.frame_count, 4);
    EQUAL(robot.warnings, 0);
    EQUAL(robot.links[0].joint, CSIM_TREE_FIXED);
    EQUAL(robot.links[1].joint, CSIM_TREE_REVOLUTE);
    EQUAL(robot.links[2].joint, CSIM_TREE_PRISMATIC);
    EQUAL(robot.links[2].parent, 1);
    NEAR(robot.links[1].frame.position.z, 1, 0);
    NEAR(robot.links[2].frame.position.z, 0.5, 1e-6); /* through the plate */
    NEAR(robot.links[1].lower, -1, 0);
    NEAR(robot.links[1].upper, 2, 0);
    NEAR(robot.links[1].effort, 7, 0);
    NEAR(robot.links[1].damping, 0.5, 0);
    NEAR(robot.links[1].friction, 0.25, 0);
    NEAR(robot.links[1].mass, 3, 1e-6);
    NEAR(robot.links[1].centre.z, (2 * 0.1 + 1 * 0.3) / 3, 1e-6);
    /* turned by a right angle about z: xx and yy change places; then Steiner for the two parts 0.2 apart */
    NEAR(robot.links[1].inertia.m[0], 0.2 + 0.1 + 2.0 / 3 * 0.04, 1e-6);
    NEAR(robot.links[1].inertia.m[4], 0.1 + 0.1 + 2.0 / 3 * 0.04, 1e-6);
    NEAR(robot.links[1].inertia.m[8], 0.3 + 0.1, 1e-6);
    EQUAL(robot.links[1].shape_count, 2);
    EQUAL(robot.links[1].shapes[0].kind, CSIM_SHAPE_BOX);
    NEAR(robot.links[1].shapes[0].half.y, 0.2, 1e-7);
    EQUAL(robot.links[1].shapes[1].kind, CSIM_SHAPE_CYLINDER);
    NEAR(robot.links[1].shapes[1].local.position.z, 0.3, 1e-7);
    EQUAL(csim_urdf_find(&robot, "plate"), 1);
    EQUAL(csim_urdf_find(&robot, "tip"), 2);
    csim_urdf_free(&robot);
}

#define LINK(name) "<link name='" name "'/>"
#define JOINT(name, parent, child) \
    "<joint name='" name "' type='fixed'><parent link='" parent "'/><child link='" child "'/></joint>"

TEST(mistakes_are_named_with_line_and_element) {
    static const struct {
        const char *text, *words;
        csim_status status;
    } wrong[] = {
        {"", "expected <robot>", CSIM_PARSE_ERROR},
        {"<car/>", "expected <robot>", CSIM_PARSE_ERROR},
        {"<robot name='r'>\n", "does not end", CSIM_PARSE_ERROR},
        {"<robot name='r'></robot>", "no links", CSIM_PARSE_ERROR},
        {"<robot>\n\n<link/></robot>", "line 3: <link>: name is missing", CSIM_PARSE_ERROR},
        {"<robot>" LINK("a") LINK("a") "</robot>", "'a' <link>: the name is used twice", CSIM_PARSE_ERROR},
        {"<robot>" LINK("a") LINK("b") "</robot>", "two roots", CSIM_OUT_OF_RANGE},
        {"<robot>" LINK("a") "\n" JOINT("j", "a", "c") "</robot>", "line 2: 'j' <joint>: names a link",
         CSIM_PARSE_ERROR},
        {"<robot>" LINK("a") LINK("b") JOINT("j", "a", "b") JOINT("k", "b", "a") "</robot>", "a loop",
         CSIM_OUT_OF_RANGE},
        {"<robot>" LINK("a") LINK("b") LINK("c") JOINT("j", "b", "c") JOINT("k", "c", "b") "</robot>",
         "hangs on a loop", CSIM_OUT_OF_RANGE},
        {"<robot>" LINK("a") LINK("b") JOINT("j", "a", "b") JOINT("k", "a", "b") "</robot>", "another parent",
         CSIM_OUT_OF_RANGE},
        {"<robot><link name='a'><inertial><mass value='-1'/></inertial></link></robot>", "'a' <mass>: value",
         CSIM_OUT_OF_RANGE},
        {"<robot><link name='a'><inertial>\n<mass value='one'/></inertial></link></robot>",
         "line 2: 'a' <mass>: value must be a number", CSIM_PARSE_ERROR},
        {"<robot><link name='a'><inertial><mass value='1'/><inertia ixx='-1' iyy='1' "
         "izz='1'/></inertial></link></robot>",
         "not positive definite", CSIM_OUT_OF_RANGE},
        {"<robot><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1'/></inertial></link></robot>",
         "izz is missing", CSIM_PARSE_ERROR},
        {"<robot><link name='a'><collision><geometry><box size='1 2'/></geometry></collision></link></robot>",
         "<box>: size must be three numbers", CSIM_PARSE_ERROR},
        {"<robot><link name='a'><collision><geometry><sphere radius='0'/></geometry></collision></link></robot>",
         "<sphere>: sizes", CSIM_OUT_OF_RANGE},
        {"<robot><link name='a'></robot>", "closes another element", CSIM_PARSE_ERROR},
        {"<robot><joint name='j' type='magic'/></robot>", "'j' <joint>: type is none", CSIM_PARSE_ERROR},
        {"<robot><joint name='j' type='planar'/></robot>", "planar", CSIM_UNSUPPORTED},
        {"<robot><joint name='j' type='fixed'/></robot>", "a parent and a child", CSIM_PARSE_ERROR},
        {"<robot><!-- ", "comment", CSIM_PARSE_ERROR},
        {"<robot><link name='a' <", "does not end with >", CSIM_PARSE_ERROR},
    };
    size_t i;
    for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        csim_urdf robot;
        csim_error error;
        CASE("%s", wrong[i].text);
        STATUS(load(wrong[i].text, &robot, &error), wrong[i].status);
        if (!strstr(error.text, wrong[i].words)) printf("    said: %s\n", error.text);
        CHECK(strstr(error.text, wrong[i].words) != NULL);
        CHECK(robot.block == NULL && robot.def.links == NULL);
    }
}

TEST(unknown_elements_warn_and_the_rest_is_read) {
    csim_urdf robot;
    csim_error error;
    STATUS(load("<robot name='r'><link name='a'><sensor><x>text</x></sensor><collision><geometry>"
                "<mesh filename='a.stl'/></geometry></collision></link></robot>",
                &robot, &error),
           CSIM_OK);
    EQUAL(robot.warnings, 2);
    CHECK(strstr(robot.warning, "'a' <sensor>: unknown element") != NULL);
    EQUAL(robot.links[0].shape_count, 0);
    csim_urdf_free(&robot);
    /* a massless root with a floating joint is the world */
    STATUS(load("<robot name='r'>" LINK("world") LINK("a") "<joint name='f' type='floating'><parent link='world'/>"
                                                           "<child link='a'/></joint></robot>",
                &robot, &error),
           CSIM_OK);
    EQUAL(robot.def.link_count, 1);
    EQUAL(robot.links[0].joint, CSIM_TREE_FLOATING);
    csim_urdf_free(&robot);
}

/* An allocator that fails at the n-th call. */
static int calls_left, blocks_held;
static void *failing_alloc(void *user, size_t size, size_t align) {
    char *raw;
    uintptr_t at;
    (void)user;
    if (calls_left-- == 0) return NULL;
    raw = (char *)malloc(size + align + sizeof raw);
    if (!raw) return NULL;
    blocks_held++;
    at = ((uintptr_t)raw + sizeof raw + align - 1) / align * align;
    memcpy((char *)at - sizeof raw, &raw, sizeof raw);
    return (void *)at;
}
static void failing_free(void *user, void *p, size_t size) {
    char *raw;
    (void)user;
    (void)size;
    if (!p) return;
    memcpy(&raw, (char *)p - sizeof raw, sizeof raw);
    blocks_held--;
    free(raw);
}

TEST(memory_that_runs_out_leaves_nothing_behind) {
    csim_allocator allocator;
    csim_status status = CSIM_OUT_OF_MEMORY;
    int n;
    memset(&allocator, 0, sizeof allocator);
    allocator.alloc = failing_alloc;
    allocator.free = failing_free;
    for (n = 0; n < 50 && status != CSIM_OK; n++) {
        csim_urdf robot;
        csim_error error;
        calls_left = n;
        status = csim_urdf_load_text(arm, sizeof arm - 1, NULL, &allocator, &robot, &error);
        if (status == CSIM_OK)
            csim_urdf_free(&robot);
        else
            EQUAL(status, CSIM_OUT_OF_MEMORY);
        EQUAL(blocks_held, 0);
    }
    CHECK(status == CSIM_OK && n > 3);
}

/* Bytes changed, cut out, doubled, cut off: a status, never a crash; what loads can be built or is refused. */
TEST(damaged_texts_are_survived) {
    static char text[sizeof arm * 2];
    csim_world_def d = csim_default_world_def();
    csim_world *w = NULL;
    csim_error error;
    int trial, loaded = 0, built = 0;
    STATUS(csim_create_world(&d, &w, &error), CSIM_OK);
    for (trial = 0; trial < 20000; trial++) {
        csim_urdf robot;
        size_t size = sizeof arm - 1, at, n;
        int k, changes = 1 + (int)check_random(0, 4);
        memcpy(text, arm, size);
        for (k = 0; k < changes; k++) {
            const int what = (int)check_random(0, 4);
            at = (size_t)check_random(0, (double)size);
            n = (size_t)check_random(1, 40);
            if (at + n > size) n = size - at;
            if (what == 0) text[at] = (char)(unsigned char)check_random(0, 256);
            if (what == 1) text[at] = "<>/='\" 0-9"[(int)check_random(0, 10)];
            if (what == 2) {
                memmove(text + at, text + at + n, size - at - n);
                size -= n;
            }
            if (what == 3 && size + n < sizeof text) {
                memmove(text + at + n, text + at, size - at);
                size += n;
            }
            if (trial % 50 == 0) size = at;
        }
        if (csim_urdf_load_text(text, size, NULL, NULL, &robot, &error) == CSIM_OK) {
            csim_body_id id;
            loaded++;
            if (csim_create_tree(w, &robot.def, &id) == CSIM_OK) {
                built++;
                STATUS(csim_destroy_body(w, id), CSIM_OK);
            }
            csim_urdf_free(&robot);
        } else {
            CHECK(error.text[0] && strlen(error.text) < sizeof error.text);
        }
    }
    printf("    %d of 20000 damaged texts still load, %d of them can be built\n", loaded, built);
    CHECK(loaded > 100 && loaded < 19900);
    csim_destroy_world(w);
}
