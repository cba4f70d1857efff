// tour: condsim from C++11: a world that frees itself, definitions filled in place, errors as exceptions.
//
//     c++ -O2 tour.cpp
#define CONDSIM_IMPLEMENTATION
#include "../../../condsim.h"
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

class World {
public:
    explicit World(const csim_world_def &def = csim_default_world_def()) {
        csim_world *made = nullptr;
        csim_error error;
        if (csim_create_world(&def, &made, &error) != CSIM_OK) throw std::runtime_error(error.text);
        world.reset(made);
    }
    operator csim_world *() const { return world.get(); }

    // What a call returned: anything but CSIM_OK is an exception with the library's sentence.
    void check(csim_status status) const {
        if (status != CSIM_OK) throw std::runtime_error(csim_last_error(world.get()));
    }

    csim_body_id ground(double friction) {
        csim_body_id id;
        check(csim_create_ground(*this, csim_v3(0, 0, 0), csim_v3(0, 0, 1), csim_real(friction), &id));
        return id;
    }

    // One shape; `more` changes the definition before the body is made.
    template <class More> csim_body_id rigid(csim_shape shape, csim_vec3 at, More more) {
        csim_rigid_def def = csim_default_rigid_def();
        csim_body_id id;
        def.shapes = &shape;
        def.shape_count = 1;
        def.pose.position = at;
        more(def);
        check(csim_create_rigid(*this, &def, &id));
        return id;
    }
    csim_body_id rigid(csim_shape shape, csim_vec3 at) {
        return rigid(shape, at, [](csim_rigid_def &) {});
    }

    csim_vec3 position(csim_body_id id) const {
        csim_pose pose;
        check(csim_body_get_pose(*this, id, &pose));
        return pose.position;
    }

    void step(double h) { check(csim_world_step(*this, csim_real(h))); }

    std::vector<char> save() const {
        std::size_t bytes = 0;
        check(csim_world_save(*this, nullptr, &bytes));
        std::vector<char> out(bytes);
        check(csim_world_save(*this, out.data(), &bytes));
        return out;
    }
    void restore(const std::vector<char> &bytes) { check(csim_world_restore(*this, bytes.data(), bytes.size())); }

private:
    struct Free {
        void operator()(csim_world *w) const { csim_destroy_world(w); }
    };
    std::unique_ptr<csim_world, Free> world;
};

int main() {
    World world;
    std::vector<csim_body_id> tower;
    world.ground(0.6);
    for (int i = 0; i < 4; ++i)
        tower.push_back(world.rigid(csim_box(csim_v3(0.5, 0.5, 0.5)), csim_v3(0, 0, csim_real(0.5 + i))));
    world.rigid(csim_sphere(csim_real(0.3)), csim_v3(-4, 0, csim_real(2.5)), [](csim_rigid_def &def) {
        def.velocity = csim_v3(12, 0, 2);
        def.mass = 300;
    });

    const std::vector<char> start = world.save();
    for (int i = 0; i < 120; ++i) world.step(1.0 / 60);
    const auto hash = csim_world_hash(world);
    for (std::size_t i = 0; i < tower.size(); ++i) {
        const csim_vec3 at = world.position(tower[i]);
        std::printf("box %d came to %.2f %.2f %.2f\n", int(i), double(at.x), double(at.y), double(at.z));
    }

    world.restore(start); // and once more: the same bits
    for (int i = 0; i < 120; ++i) world.step(1.0 / 60);
    std::printf("the same again: %s\n", csim_world_hash(world) == hash ? "yes" : "no");

    try {
        world.rigid(csim_box(csim_v3(-1, 1, 1)), csim_v3(0, 0, 9));
    } catch (const std::runtime_error &e) {
        std::printf("refused: %s\n", e.what());
    }
    return 0;
}
