"""Places of meshes, and the shapes drawn for a link that has none."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.errors import ModelError
from robot_dynamics.view.mesh_files import find_mesh, package_of
from robot_dynamics.view.robot_geometry import read_robot
from robot_dynamics.view.visuals import Box, Cylinder, MeshFile, Sphere

TRIANGLE = """solid t
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid
"""
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def robot(first="", second="", third=""):
    return f"""
<robot name="r">
  <link name="base">{first}</link><link name="upper">{second}</link><link name="hand">{third}</link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <origin xyz="0 0 0.5"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="j2" type="revolute"><parent link="upper"/><child link="hand"/><axis xyz="0 1 0"/>
    <origin xyz="0.3 0 0.4"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def mesh(name):
    return f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package arm_description with a description and a mesh, known to no variable."""
    for variable in ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH", "GZ_SIM_RESOURCE_PATH"):
        monkeypatch.delenv(variable, raising=False)
    folder = tmp_path / "arm_description"
    (folder / "urdf").mkdir(parents=True)
    (folder / "meshes").mkdir()
    (folder / "meshes" / "part 1.stl").write_text(TRIANGLE, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "package://arm_description/meshes/part%201.stl",
        "model://arm_description/meshes/part 1.stl",
        "../meshes/part 1.stl",
    ],
)
def test_meshes_are_found_from_the_description_upwards(package, name):
    found = find_mesh(name, package / "urdf")
    assert found.resolve() == package / "meshes" / "part 1.stl"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ROS_PACKAGE_PATH", "{holder}"),
        ("ROS_PACKAGE_PATH", "/nowhere:{holder}/arm_description"),
        ("GZ_SIM_RESOURCE_PATH", "{holder}"),
    ],
)
def test_meshes_are_found_through_variables(package, monkeypatch, variable, value):
    monkeypatch.setenv(variable, value.format(holder=package.parent))
    assert find_mesh("package://arm_description/meshes/part 1.stl").is_file()


def test_meshes_are_found_through_ament(package, monkeypatch, tmp_path):
    (tmp_path / "install" / "share").mkdir(parents=True)
    package.rename(tmp_path / "install" / "share" / "arm_description")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    assert find_mesh("package://arm_description/meshes/part 1.stl").is_file()


def test_what_is_no_mesh_is_refused(package):
    (package / "notes.txt").touch()
    with pytest.raises(ModelError, match=r"none of \.stl, \.obj, \.dae"):
        find_mesh(str(package / "notes.txt"))
    for name in ("", "a\0b.stl", "package://arm_description/../../etc/passwd\0", "http://example.org/a.stl"):
        with pytest.raises(ModelError, match="is not on this machine"):
            find_mesh(name, package)


def test_the_package_is_told_from_the_name():
    assert package_of("package://ur_description/meshes/base.dae") == "ur_description"
    assert package_of("model://cabinet/a.stl") == "cabinet"
    assert package_of("meshes/a.stl") == package_of("/a.stl") == package_of("file:///a.stl") == ""


def test_a_relative_mesh_is_drawn_when_the_description_is_a_file(package):
    file = package / "urdf" / "arm.urdf"
    file.write_text(robot(mesh("../meshes/part 1.stl")), encoding="utf-8")
    shapes = [visual.shape for visual in read_robot(file).shapes if visual.link == "base"]
    assert len(shapes) == 1 and isinstance(shapes[0], MeshFile)


def test_missing_meshes_are_one_line_that_says_how_to_get_them(package):
    names = [f"package://ur_description/meshes/{part}.dae" for part in "abc"]
    geometry = read_robot(robot(*map(mesh, names)))
    (line,) = geometry.skipped
    assert line.startswith("3 meshes are not on this machine")
    assert "ros-$ROS_DISTRO-ur-description" in line and "ROS_PACKAGE_PATH" in line


def test_without_its_mesh_a_link_shows_its_collision_shape():
    collision = '<collision><geometry><box size="1 2 3"/></geometry></collision>'
    geometry = read_robot(robot(mesh("package://p/a.stl") + collision))
    assert [visual.shape for visual in geometry.shapes if visual.link == "base"] == [Box((1.0, 2.0, 3.0))]


def test_collision_shapes_are_not_drawn_beside_visuals():
    box = '<geometry><box size="1 2 3"/></geometry>'
    geometry = read_robot(robot(f"<visual>{box}</visual><collision>{box}</collision>"))
    assert len([visual for visual in geometry.shapes if visual.link == "base"]) == 1


def test_a_link_without_any_shape_is_a_capsule_to_the_next_joint():
    """Its ends are where the joints are: found by the links' own poses."""
    geometry = read_robot(robot(second=mesh("package://p/a.stl")))
    poses = geometry.link_poses({"j1": 0.7, "j2": -0.3})
    shapes = [visual for visual in geometry.shapes if visual.link == "upper"]
    cylinder = next(visual for visual in shapes if isinstance(visual.shape, Cylinder))
    place = poses["upper"] @ cylinder.origin
    half = 0.5 * cylinder.shape.length * place[:3, 2]
    np.testing.assert_allclose(place[:3, 3] - half, poses["upper"][:3, 3], atol=1e-12)
    np.testing.assert_allclose(place[:3, 3] + half, poses["hand"][:3, 3], atol=1e-12)
    balls = sorted(np.linalg.norm(v.origin[:3, 3]) for v in shapes if isinstance(v.shape, Sphere))
    np.testing.assert_allclose(balls, [0.0, 0.5], atol=1e-12)


def test_a_robot_without_any_shape_is_drawn_from_joint_to_joint():
    geometry = read_robot(robot(third=INERTIAL))
    assert {visual.link for visual in geometry.shapes} == {"base", "upper", "hand"}
    assert geometry.not_drawn == {}


def test_frames_without_shape_and_mass_are_named():
    box = '<visual><geometry><box size="1 2 3"/></geometry></visual>'
    assert list(read_robot(robot(box, box)).not_drawn) == ["hand"]


def test_a_file_that_cannot_be_read_is_replaced_and_named(package):
    pytest.importorskip("trimesh", reason="viser is not installed")
    from robot_dynamics.view.mesh_files import read_mesh, unreadable

    broken = package / "meshes" / "broken.stl"
    broken.write_bytes(b"\x00" * 10)
    geometry = read_robot(robot(mesh(str(broken))), None, unreadable)
    assert all(not isinstance(visual.shape, MeshFile) for visual in geometry.shapes)
    assert any(visual.link == "base" for visual in geometry.shapes)
    assert "broken.stl" in geometry.skipped[0]
    vertices, faces = read_mesh(package / "meshes" / "part 1.stl")
    assert vertices.shape == (3, 3) and faces.shape == (1, 3)


def test_a_collada_mesh_is_read(tmp_path):
    pytest.importorskip("collada", reason="collada (pycollada) is not installed")
    trimesh = pytest.importorskip("trimesh", reason="viser is not installed")
    from robot_dynamics.view.mesh_files import read_mesh

    file = tmp_path / "box.dae"
    file.write_bytes(trimesh.exchange.dae.export_collada(trimesh.creation.box((1.0, 2.0, 3.0))))
    vertices, faces = read_mesh(file)
    np.testing.assert_allclose(np.ptp(vertices, axis=0), [1.0, 2.0, 3.0], atol=1e-6)
    assert len(faces) == 12


def test_parts_have_the_colours_of_their_materials(tmp_path, package):
    """As rviz shows them: the mesh's material wins, the description's colours what has none."""
    pytest.importorskip("trimesh", reason="viser is not installed")
    from robot_dynamics.view.mesh_files import read_parts

    (tmp_path / "two.mtl").write_text("newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n")
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    faces = "usemtl red\nf 1 2 3\nusemtl blue\nf 1 2 4\nusemtl red\nf 2 3 4\n"
    (tmp_path / "two.obj").write_text(f"mtllib two.mtl\n{corners}{faces}")
    found = {part.color[:3]: len(part.faces) for part in read_parts(tmp_path / "two.obj")}
    assert found == {(1.0, 0.0, 0.0): 2, (0.0, 0.0, 1.0): 1}
    assert [part.color for part in read_parts(package / "meshes" / "part 1.stl")] == [None]


def test_a_simplified_mesh_keeps_its_shape_within_a_cell():
    trimesh = pytest.importorskip("trimesh", reason="viser is not installed")
    from robot_dynamics.view.mesh_files import MeshPart, simplified

    ball = trimesh.creation.icosphere(5, 0.5)
    part = MeshPart(np.asarray(ball.vertices), np.asarray(ball.faces))
    few = simplified(part, 1000)
    assert 300 < len(few.faces) <= 1000
    radii = np.linalg.norm(few.vertices, axis=1)
    assert radii.min() > 0.47 and radii.max() <= 0.5 + 1e-9
    assert simplified(part, len(part.faces)) is part
