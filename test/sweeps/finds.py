"""Sequences of the search ``operators`` that once ended in what must not be: robot, and its events."""

LOAD_THAT_DRIVES_A_JOINT = (
    "panda",
    """
begin(towards=0.0, size=0.983, scale=0.9, wrong="gravity", place=[0.8, -0.454, -0.848, -0.609, 0.0,
    -0.197, -0.715])
push(duration=0.316, force=[0.873, 0.564, 0.592])
limits(values={"max_effort_step": 0.266, "on_contact": "off"})
block(duration=0.369)
lose(age=0.0, duration=0.0135)
jam(duration=0.896, which=5)
limits(values={"model_change_time": 0.928})
poses(count=7, reach=0.0956, turn=[0.0, 0.0, -0.419], way=[0.396, 0.0, 0.0])
teardown()
""",
)
"""Gravity that is declared 10 degrees wrong: what a joint had carried drove it on in a protective stop."""

STOP_ON_A_NEW_LINE = (
    "puma",
    """
begin(place=[0.0, -0.0546, -0.5073, 0.5232, 0.0, 0.0, 0.0], wrong="payload", scale=1.0, towards=2.0,
    size=0.993)
effort_limits(scale=0.77)
trajectory(moving=False, places=[[0.0, 0.577, 0.939, 0.895, 0.0, 0.836, -0.448], [0.039, 0.745, 0.011,
    -0.287, -0.424, 0.062, 0.0], [0.73, 0.0, 0.755, -0.729, 0.0, 0.0, 0.6], [0.0, 0.0, 1.0, -0.135,
    -0.352, 0.123, 1.0]], reach=0.1, then=0.486, times=[1.0, 0.595, 0.0731, 0.154])
push(duration=0.186, force=[0.544, 0.002, 0.339])
limits(values={"stream_horizon": 0.1, "max_acceleration": (8.2,), "stop_deceleration": (1.0,),
    "safe_fade_time": 0.545, "max_effort_step": 0.00105, "loop_delay": 0.0, "observer_gain": 200.0,
    "on_contact": "yield", "model_change_time": 10.0})
stop(how="stop_at_once", wait=True)
trajectory(moving=False, places=[[0.0, 0.005, 0.623, -0.617, -0.0445, 0.233, 0.0], [0.0, 0.832, -0.967,
    0.0, -0.175, 0.227, 0.136], [0.0, -0.544, -0.662, 0.731, -0.151, 0.0, 0.0], [-0.726, -0.182, 0.0, 0.0,
    -0.655, 0.0, 0.0]], reach=0.0106, then=0.99, times=[0.109, 0.2203, 0.0696, 1.173])
limits(values={"safe_fade_time": 0.0986, "loop_delay": 0.002, "stop_deceleration": (1.0146,),
    "on_contact": "report", "stream_horizon": -1.0, "model_change_time": 0.1166, "max_acceleration":
    (8.666,)})
block(duration=0.0316)
go_on(how="reset_fault")
block(duration=0.02)
block(duration=0.459)
go_on(how="unpark")
teardown()
""",
)
"""2.5 kg that nobody declared: a stop on a new line lost what stiffened joints pulled with."""

STOP_BESIDE_A_CUT_EFFORT = (
    "puma",
    """
begin(scale=1.0, size=0.513, towards=0.0, wrong="payload", place=[-0.176, 0.988, -0.564, 0.0, 0.0, 0.0,
    0.0])
trajectory(moving=True, places=[[0.834, 0.7, 0.0, 0.0, -0.796, 0.0, 0.0], [0.234, -0.18, 0.0, 0.0, 0.0,
    0.809, 0.93], [0.0, -0.928, -0.84, -0.366, 0.0, 0.0, -0.467], [-0.057, 0.0, -0.696, 0.0, 0.453, -0.577,
    -1.0]], reach=1.0, then=0.281, times=[1.0, 0.248, 2.699, 1.653])
trajectory(moving=False, places=[[0.0, 0.0, -0.207, 0.22, 0.25, -0.376, 0.0], [0.0, 0.0, 0.0, 0.568, -0.586,
    0.0, -0.446]], reach=0.096, then=0.224, times=[0.062, 0.078, 4.325, 0.27])
trajectory(moving=True, places=[[-0.452, 0.0, 0.0, 0.615, 0.0, -0.857, 0.0], [0.0, 0.192, 0.923, 0.0,
    -0.183, 0.523, -0.863]], reach=1.0, then=0.79, times=[3.943, 0.053, 1.613, 5.0])
go_on(how="reset_fault")
targets(ahead=0.07, count=12, rate=60.0, reach=0.3, step=[0.546, -0.441, 1.0, 0.0, 0.581, -0.083, 0.0])
go_on(how="unpark")
targets(ahead=0.029, count=13, rate=20.0, reach=0.079, step=[-0.121, 0.0, -0.756, 0.146, -0.537, 0.0, 0.0])
teardown()
""",
)
"""1.3 kg that nobody declared: an effort that was cut once kept the gains of every other joint low."""

STOP_BESIDE_A_BOUNDED_STEP = (
    "panda",
    """
begin(scale=0.9, towards=0.0, place=[0.626, 0.0, -0.413, 0.448, -0.455, 0.0, -0.934], wrong="gravity",
    size=0.734)
poses(count=8, reach=0.149, turn=[0.104, 0.0, -0.828], way=[0.873, -0.09, 0.0])
tip_softness(axes="root", damping=5.0, decoupled=True, posture=1.0, projector="none", stiffness=734.88)
poses(count=1, reach=0.082, turn=[0.0, -0.21, 0.0], way=[-0.11, -0.885, 0.0])
late(count=5, factor=7)
teardown()
""",
)
"""States every 14 ms: bounds of the steps of efforts, joint by joint, drove one joint by another."""

STOP_WITH_LITTLE_DAMPING = (
    "puma",
    """
begin(place=[0.0, 0.0, 0.0, -0.424, -0.656, 0.0, 0.702], scale=1.0, wrong="payload", size=1.0, towards=0.0)
trajectory(moving=False, places=[[-0.467, 0.0, 0.646, -0.804, 0.068, 0.0, 0.5]], reach=1.0, then=0.826,
    times=[0.095, 0.468, 1.778, 1.0])
gains(damping=1.0, ki=0.0, kp=145.583)
gains(damping=1.0, ki=0.0, kp=39.863)
gains(damping=0.2, ki=500.0, kp=211.687)
tip_softness(axes="root", damping=5.0, decoupled=False, posture=1.0, projector="none", stiffness=1.11)
wait(duration=1.0)
teardown()
""",
)
"""A fifth of the critical damping: gains of the stop rose by what kp stands, too little for a payload."""

OTHER_LAW_BESIDE_A_STEP = (
    "puma",
    """
begin(wrong="nothing", towards=3.825, size=1.0, place=[0.0, 0.879, -0.842, -0.324, -0.595, 0.506, 0.964],
    scale=1.0)
late(count=18, factor=6)
late(count=44, factor=7)
poses(count=7, reach=0.1, turn=[0.102, -0.315, -0.387], way=[0.0, -0.802, 0.037])
tip_softness(axes="root", damping=5.0, decoupled=False, posture=0.617, projector="none", stiffness=22.42)
tip_softness(axes="root", damping=-1.0, decoupled=False, posture=1.0, projector="dynamic", stiffness=5.388)
teardown()
""",
)
"""Settings came with a step of the reference's acceleration, which was taken for a part of the old law."""

SPRING_AT_A_SINGULARITY = (
    "puma",
    """
begin(place=[0.939, -0.39, 0.002, 0.589, 0.0, -0.418, -0.847], wrong="gravity", scale=0.9, towards=1.736,
    size=0.0)
effort_limits(scale=1.0)
softness(damping=0.0, stiffness=12.944)
mode(mode="gravity_compensation")
gains(damping=2.77, ki=0.0, kp=1464.972)
block(duration=1.0)
poses(count=10, reach=0.004, turn=[-0.958, 0.0, 0.0], way=[0.004, 0.822, -0.794])
tip_softness(axes="root", damping=-1.0, decoupled=True, posture=1.0, projector="dynamic", stiffness=1.0)
mode(mode="joint_impedance")
poses(count=7, reach=0.045, turn=[0.0, 0.081, -0.927], way=[0.758, 0.749, -0.06])
mode(mode="cartesian_impedance")
targets(ahead=0.045, count=14, rate=10.0, reach=0.005, step=[-0.603, 0.0, 0.333, 0.95, -0.751, 0.333, 0.0])
teardown()
""",
)
"""Two aligned axes: the posture's spring threw the wrist from one state to the next."""

STOP_WHERE_AXES_ALIGN = (
    "panda",
    """
begin(towards=5.283, wrong="nothing", size=0.2, scale=1.0, place=[0.909, 0.885, 0.369, -0.213, -0.68, 0.151,
    0.0])
go_on(how="unpark")
jam(duration=0.099, which=3)
jam(duration=0.122, which=4)
poses(count=11, reach=0.153, turn=[0.237, 0.0, 0.333], way=[0.703, 0.84, -0.422])
jam(duration=0.517, which=3)
tip_softness(axes="frame", damping=5.0, decoupled=True, posture=1.0, projector="dynamic", stiffness=1.477)
mode(mode="cartesian_impedance")
teardown()
""",
)
"""Brakes of each joint by its own inertia threw two whose axes align, in a stop of soft springs: 2.8."""

SPRINGS_REPLACED_AMONG_RARE_STATES = (
    "panda",
    """
begin(scale=1.1, size=0.995, towards=0.0, place=[-0.01, -0.116, 0.0, 0.0, 0.721, 0.0, 0.0], wrong="gravity")
push(duration=1.0, force=[-0.015, 0.516, -0.663])
lose(age=0.025, duration=0.5)
mode(mode="cartesian_impedance")
gains(damping=0.247, ki=-1.0, kp=8.972)
block(duration=0.041)
block(duration=0.2)
gains(damping=0.794, ki=0.0, kp=6225.566)
limits(values={"max_effort_step": 1.585, "max_acceleration": (5.663,), "stop_deceleration":
    (1.0,), "observer_gain": 25.0, "on_contact": "yield", "stream_horizon": -1.0,
    "loop_delay": 0.01, "model_change_time": 1.0, "safe_fade_time": 1.0})
tip_softness(axes="root", damping=5.0, decoupled=False, posture=1.0, projector="none", stiffness=2103.261)
late(count=19, factor=8)
teardown()
""",
)
"""Springs that rare states weaken no longer balanced what was left of those before: 1.75."""

SOFT_ARM_FALLS_THROUGH_ITS_WRISTS_SINGULARITY = (
    "puma",
    """
begin(scale=1.1, towards=0.0, size=0.0, wrong="nothing", place=[0.0, 0.0, 0.583, 0.322, 0.0, -0.006, 0.377])
wait(duration=0.339)
gains(damping=1.0, ki=500.0, kp=854.713)
tip_softness(axes="frame", damping=-1.0, decoupled=True, posture=74.296, projector="dynamic", stiffness=1.0)
mode(mode="cartesian_impedance")
tip_softness(axes="frame", damping=5.0, decoupled=False, posture=25.128, projector="kinematic",
    stiffness=3.896)
gains(damping=1.429, ki=0.0, kp=181.588)
go_on(how="reset_fault")
gains(damping=0.781, ki=500.0, kp=16.807)
tip_softness(axes="frame", damping=0.0, decoupled=False, posture=1.0, projector="dynamic", stiffness=10.257)
lose(age=0.02, duration=0.156)
effort_limits(scale=1.0)
poses(count=8, reach=0.037, turn=[0.0, 0.323, -0.336], way=[0.423, 0.0, 0.0])
go_on(how="reset_fault")
poses(count=3, reach=0.098, turn=[0.76, 0.65, 0.0], way=[0.676, 0.113, 0.0])
teardown()
""",
)
"""Springs of 1 N/m do not bear masses that are wrong by 10 %; the wrist passes its singularity at 3 rad/s."""

LOAD_THAT_IS_NOT_THERE_IN_MOTION = (
    "platform_25_kg",
    """
begin(size=0.881, wrong="nothing", towards=0.0)
lose(duration=0.105)
payload(declared=False, mass=0.034, place=[-0.226, 0.225, -0.114])
gains(damping=1.342, kp=125.804)
gains(damping=3.153, kp=1006.867)
limits(values={"settle_speed": 0.13, "model_change_time": 0.033, "stop_deceleration": 11.969,
    "max_angular_acceleration": 1.0, "on_stream_end": "hold", "stream_jerk": 0.0, "max_effort_step": 0.017,
    "max_acceleration": 1.084, "governed_share": 0.548})
lose(duration=0.162)
gains(damping=0.635, kp=15.849)
limits(values={"governed_share": 0.912, "settle_speed": 0.056, "max_angular_acceleration": 1.451,
    "max_acceleration": 1.335, "stop_deceleration": 6.31, "max_effort_step": 1.0, "model_change_time":
    0.036, "on_stream_end": "park"})
trajectory(places=[[0.0, 0.441, -0.322, 0.0, -0.091, 0.0], [0.3, 0.782, 0.366, -0.889, -0.817, 0.0], [0.599,
    0.81, -0.333, 0.659, -0.402, 0.0]], reach=0.047, then=0.735, times=[0.77, 1.215, 0.211])
gains(damping=0.43, kp=45.776)
jam(duration=0.369, which=3)
gains(damping=0.201, kp=15.849)
payload(declared=True, mass=0.527, place=[0.843, 0.806, -0.0])
teardown()
""",
)
"""A load of twice the platform, declared in motion and not there: 1.45 of a leg's speed limit, now 0.80."""

SMALL_STEPS_IN_A_PROTECTIVE_STOP = (
    "panda",
    """
begin(scale=1.0, place=[-0.461, 0.362, 0.0, 0.0, -0.469, -0.857, 1.0], wrong="nothing", size=0.0,
    towards=0.994)
push(duration=0.02, force=[0.373, 0.0, 0.322])
push(duration=0.836, force=[-0.109, 0.7, -0.709])
block(duration=0.027)
stop(how="park", wait=True)
go_on(how="unpark")
targets(ahead=0.037, count=23, rate=20.0, reach=0.038, step=[0.638, 0.0, -0.783, -0.719, 1.0, 0.309, 0.0])
tip_softness(axes="frame", damping=5.0, decoupled=True, posture=1.0, projector="kinematic",
    stiffness=28.682)
limits(values={"max_effort_step": 0.013, "observer_gain": 5.0, "model_change_time": 0.512, "loop_delay":
    0.01, "on_contact": "off"})
push(duration=0.054, force=[0.0, -1.0, 0.0])
push(duration=0.732, force=[0.0, 0.373, 0.0])
tip_softness(axes="root", damping=-1.0, decoupled=True, posture=17.003, projector="kinematic",
    stiffness=1277.471)
push(duration=0.135, force=[0.0, 0.659, 0.0])
block(duration=0.309)
effort_limits(scale=0.746)
teardown()
""",
)
"""Each stop ended with a step that began another one: a wrist crept on at 0.06 of its speed limit."""

PARKED_BESIDE_ITS_STOPS = (
    "platform_2_kg",
    """
begin(size=1.0, towards=4.83, wrong="nothing")
payload(declared=True, mass=0.004, place=[-1.0, -0.836, 0.52])
trajectory(places=[[0.767, 0.881, 0.0, 0.0, -0.861, 0.778], [0.681, 0.0, 0.122, 0.0, -0.204, -1.0], [-0.531,
    0.0, 0.999, 0.0, 0.103, -0.131]], reach=0.011, then=0.997, times=[0.142, 0.167, 1.009])
stream(count=6, frequency=0.463, rate=30.0, reach=0.157, stamped=False, wave=[-0.033, 0.004, 0.0, -0.867,
    0.0, 0.219])
stream(count=31, frequency=1.829, rate=60.0, reach=0.01, stamped=True, wave=[0.0, 0.0, 0.197, 0.502, -0.168,
    0.0])
gains(damping=0.292, kp=55.237)
payload(declared=False, mass=0.001, place=[0.0, 0.169, 0.0])
wait(duration=0.871)
teardown()
""",
)
"""The park pose lies 0.05 mm above the stops: without a load that was declared it touched them at 1 mm/s."""

PUSHED_INTO_AN_END_STOP = (
    "puma",
    """
begin(wrong="nothing", scale=1.0, size=0.182, place=[0.0, 0.664, 1.0, -0.802, 0.0, -0.667, 0.546],
    towards=2.969)
softness(damping=-1.0, stiffness=1.0)
tip_softness(axes="root", damping=-1.0, decoupled=False, posture=31.6, projector="dynamic", stiffness=1.0)
push(duration=0.036, force=[0.0, 0.501, 0.0])
go_on(how="unpark")
gains(damping=0.513, ki=-1.0, kp=50.0)
go_on(how="reset_fault")
poses(count=14, reach=0.046, turn=[0.333, -0.3, 0.0], way=[0.0, 0.308, -0.183])
push(duration=0.142, force=[-0.526, 0.0, 0.0])
lose(age=0.025, duration=0.464)
gains(damping=3.906, ki=0.0, kp=10.388)
push(duration=0.023, force=[0.94, 0.389, -0.5])
mode(mode="cartesian_impedance")
mode(mode="computed_torque")
lose(age=0.026, duration=0.142)
teardown()
""",
)
"""The force of an end stop was carried as a load: two joints crept away at 0.12 of their limits."""

DRIVEN_DOWN_BY_ITS_ESTIMATE = (
    "platform_2_kg",
    """
begin(wrong="nothing", size=0.216, towards=3.085)
payload(declared=True, mass=0.1, place=[0.0, 0.307, -0.44])
command(how="hold")
gains(damping=1.0, kp=79.416)
trajectory(places=[[0.952, 0.1, -0.56, 1.0, 0.0, -0.323]], reach=0.019, then=0.616, times=[0.346, 1.0,
    1.649])
payload(declared=False, mass=0.001, place=[-0.0, 0.517, -0.292])
command(how="unpark")
gains(damping=0.791, kp=13675.741)
command(how="unpark")
command(how="reset_fault")
gains(damping=1.0, kp=70.084)
trajectory(places=[[0.7, 0.0, -0.855, -0.321, -0.333, -0.406], [0.842, -0.538, -0.602, 0.0, 0.034, -0.392],
    [0.745, 0.347, -0.985, -0.924, 0.151, 0.675]], reach=0.058, then=0.861, times=[1.671, 1.585, 0.859])
teardown()
""",
)
"""The estimate that had borne a load which was not there pressed the platform onto its stops."""

FALLS_AFTER_A_RESET = (
    "puma",
    """
begin(size=0.4175, place=[0.3036, 0.8044, 0.3017, 0.8824, -0.6478, 0.0, 0.0], towards=1.5363,
    wrong="payload", scale=1.0)
mode(mode="cartesian_impedance")
gains(damping=2.1544, ki=-1.0, kp=14.1207)
push(duration=0.0694, force=[-0.0491, 0.2056, -0.5608])
targets(ahead=0.0292, count=2, rate=30.0, reach=0.0161, step=[0.0, 0.0127, 0.7125, 0.5774, -0.0786, 0.0,
    -0.1219])
poses(count=15, reach=0.0292, turn=[-0.0934, 0.9586, -0.4772], way=[0.0, 0.4888, 0.0699])
jam(duration=0.0251, which=4)
softness(damping=20.0, stiffness=145.4556)
targets(ahead=0.1287, count=16, rate=10.0, reach=0.0091, step=[-0.5485, 0.0073, 0.0, -0.8126, 0.0, -0.792,
    -0.0227])
jam(duration=0.0209, which=1)
mode(mode="joint_impedance")
limits(values={"stop_deceleration": (8.397173782172983,), "observer_gain": 200.0, "model_change_time": 0.01,
    "max_effort_step": 0.0044, "safe_fade_time": 0.5277, "stream_horizon": 0.0, "on_contact": "off",
    "max_acceleration": (34.134426308556336,)})
jam(duration=0.0274, which=0)
tip_softness(axes="frame", damping=0.0, decoupled=False, posture=0.2279, projector="none",
    stiffness=420.9231)
go_on(how="reset_fault")
teardown()
""",
)
"""Gains that a reset had softened let a wrist fall at 1.49 of its limit before its speed was confirmed."""

FREED_WHILE_IT_SETTLES = (
    "platform_25_kg",
    """
begin(wrong="nothing", towards=4.6203, size=0.0)
stream(count=11, frequency=1.1209, rate=60.0, reach=0.1, stamped=False, wave=[0.1754, 0.2666, 0.6109, 0.0,
    -0.8869, -0.5054])
wait(duration=1.0)
wait(duration=0.8576)
payload(declared=True, mass=0.0092, place=[0.8336, 0.3333, 0.0])
stream(count=7, frequency=0.9359, rate=30.0, reach=0.0363, stamped=True, wave=[-0.4355, 0.0311, 0.2863, 0.0,
    0.4995, 1.0])
jam(duration=0.3811, which=2)
trajectory(places=[[0.3298, 0.6285, -0.55, -0.271, -0.4691, 0.0767], [-0.6471, 0.3061, -0.7977, 0.0,
    -0.7196, -0.0564], [-0.3033, 0.0, 0.0, 1.0, -0.831, -0.4978]], reach=0.0981, then=0.8024, times=[2.8102,
    1.0, 0.209])
teardown()
""",
)
"""A leg that was freed on the way to the park pose came to its stop a third faster than platforms settle."""

SECOND_STOP_AFTER_A_MOTION = (
    "puma",
    """
begin(size=0.9211, place=[-0.9672, 0.004, 0.1, -0.2171, 0.9999, 0.0, 0.0], scale=1.0, towards=4.963,
    wrong="friction")
targets(ahead=0.1826, count=10, rate=10.0, reach=0.0055, step=[0.0, -0.367, -0.6034, 0.0001, -0.5168,
    0.2809, 0.0])
push(duration=1.0, force=[0.301, 0.0, 0.0])
limits(values={"on_contact": "off", "model_change_time": 0.1357, "stop_deceleration":
    (0.30000000000000004,), "observer_gain": 200.0})
softness(damping=20.0, stiffness=1000.0)
softness(damping=0.0, stiffness=9.9998)
wait(duration=1.0715)
go_on(how="reset_fault")
targets(ahead=0.0316, count=13, rate=10.0, reach=0.0497, step=[-0.7963, 0.3333, 0.9197, -0.6433, 0.0,
    -0.1367, 0.8445])
gains(damping=1.0, ki=0.0, kp=10141.9323)
teardown()
""",
)
"""The reference went back to the place of a stop before a motion: a wrist came to 1.51 of its limit."""

BRAKED_BY_ITSELF = (
    "ur5",
    """
begin(towards=4.2995, wrong="nothing", place=[0.9911, -0.294, 0.2, -0.7541, 0.3592, 0.7, 0.0049], scale=1.0,
    size=0.2283)
effort_limits(scale=0.4)
push(duration=1.0, force=[-0.0274, -1.0, 0.3358])
trajectory(moving=True, places=[[-0.6602, -0.8506, 0.7422, -0.4456, 0.0, 0.01, 0.897]], reach=0.0101,
    then=0.6157, times=[0.1897, 1.0, 1.0, 0.112])
gains(damping=4.2579, ki=-1.0, kp=9409.2814)
go_on(how="reset_fault")
go_on(how="unpark")
gains(damping=0.7851, ki=-1.0, kp=19306.0183)
lose(age=0.0235, duration=0.1689)
block(duration=0.3162)
stop(how="emergency_stop", wait=False)
softness(damping=0.0, stiffness=66.7064)
tip_softness(axes="frame", damping=0.0, decoupled=True, posture=3.4256, projector="none", stiffness=300.0)
softness(damping=-1.0, stiffness=1.122)
jam(duration=0.5236, which=4)
teardown()
""",
)
"""A shoulder at its effort limit was braked by itself, which drove the elbow at 1.08 of its limit."""

FRICTION_DRIVES_SOFT_SPRINGS = (
    "panda",
    """
begin(size=0.6424, wrong="friction", towards=0.4836, place=[0.0, -0.7292, 0.6294, -0.9622, -0.6101, 1.0,
    0.0], scale=1.0)
tip_softness(axes="frame", damping=-1.0, decoupled=True, posture=10.0, projector="kinematic",
    stiffness=560.4345)
poses(count=13, reach=0.1639, turn=[0.0, 0.5944, 0.0], way=[-0.0, 0.0, -1.0])
limits(values={})
trajectory(moving=True, places=[[0.0, 0.0, 0.969, 0.4845, 0.0064, -0.5083, 0.1], [-0.2066, 0.0979, 0.0,
    0.5403, 1.0, -0.3419, 0.0], [0.9166, 0.0, 0.0, 0.5282, 0.0, 0.4131, -0.426], [-0.0239, 0.5771, -0.5752,
    -0.8734, 0.809, 1.0, 0.0]], reach=1.0, then=0.8592, times=[0.3653, 2.5119, 0.5084, 0.3087])
late(count=26, factor=9)
mode(mode="cartesian_impedance")
stop(how="hold", wait=False)
effort_limits(scale=0.6771)
effort_limits(scale=1.0)
tip_softness(axes="frame", damping=5.0, decoupled=True, posture=1.0, projector="none", stiffness=300.0)
tip_softness(axes="root", damping=-1.0, decoupled=True, posture=1.0, projector="dynamic", stiffness=1.426)
poses(count=8, reach=0.1964, turn=[0.0, 0.0, 0.0], way=[0.0, 0.3476, -0.3318])
teardown()
""",
)
"""1.9 times the friction, declared, drove a wrist ahead of its reference, at 1.15 of its limit."""

SLOWER_TARGETS_TAKEN_FOR_LATE_ONES = (
    "ur5",
    """
begin(towards=4.9673, size=0.1481, wrong="nothing", scale=1.0, place=[-0.4278, 0.1258, 0.0, -0.3639, 0.6,
    0.002, -1.0])
effort_limits(scale=0.5061)
effort_limits(scale=0.4362)
targets(ahead=0.0261, count=14, rate=30.0, reach=0.1229, step=[-0.707, -0.0939, -0.3855, -0.7941, -0.2001,
    0.555, 0.3376])
effort_limits(scale=0.6808)
effort_limits(scale=1.0)
targets(ahead=0.0204, count=9, rate=10.0, reach=0.0126, step=[0.4699, 0.7056, 1.0, 0.6909, -0.325, 0.0,
    0.2014])
teardown()
""",
)
"""Two targets of a stream of 10 Hz were laid on one tick of the one of 30 Hz before it."""
