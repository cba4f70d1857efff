from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class Condsim(ConanFile):
    name = "condsim"
    version = "@VERSION@"
    license = "MIT"
    description = "Rigid, articulated and soft bodies with certified frictional contact, one C header"
    settings = "os", "compiler", "build_type", "arch"
    options = {"float": [True, False]}
    default_options = {"float": False}
    exports_sources = "CMakeLists.txt", "include/*", "src/*", "LICENSE"

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.variables["CONDSIM_FLOAT"] = bool(self.options.float)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["condsim"]
        self.cpp_info.set_property("cmake_target_name", "condsim::condsim")
        if self.settings.os != "Windows":
            self.cpp_info.system_libs = ["m"]
        if self.options.float:
            self.cpp_info.defines = ["CONDSIM_FLOAT"]
