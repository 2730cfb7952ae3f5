// Plain C++ loops over Pinocchio's rnea and over the derivatives of rnea and aba, compiled for this machine: what a C++ user would write.
#if __has_include(<pinocchio/multibody/model.hpp>)
#include <pinocchio/multibody/model.hpp>
#include <pinocchio/multibody/data.hpp>
#else
#include <pinocchio/multibody.hpp>
#endif
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

namespace pin = pinocchio;

struct Arm {
    pin::Model model;
    pin::Data data;
    Eigen::VectorXd q, v, a;
};

using Row = Eigen::Map<const Eigen::VectorXd>;

// joints: for each joint 1 if revolute, about or along z; poses: 4x4 in the joint before, by rows; bodies: mass,
// center of mass (3), inertia about it (3x3).
extern "C" void *arm_new(int n, const int *revolute, const double *poses, const double *bodies,
                         const double *gravity)
{
    using Matrix4 = Eigen::Matrix<double, 4, 4, Eigen::RowMajor>;
    using Matrix3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
    auto *arm = new Arm;
    arm->model.gravity.linear() = Eigen::Map<const Eigen::Vector3d>(gravity);
    pin::JointIndex parent = 0;
    for (int i = 0; i < n; ++i) {
        const Eigen::Map<const Matrix4> pose(poses + 16 * i);
        const pin::SE3 placement(pose.topLeftCorner<3, 3>(), pose.topRightCorner<3, 1>());
        const std::string name = "joint" + std::to_string(i);
        parent = revolute[i] ? arm->model.addJoint(parent, pin::JointModelRZ(), placement, name)
                             : arm->model.addJoint(parent, pin::JointModelPZ(), placement, name);
        const double *body = bodies + 13 * i;
        arm->model.appendBodyToJoint(
            parent,
            pin::Inertia(body[0], Eigen::Vector3d(body[1], body[2], body[3]),
                         Eigen::Matrix3d(Eigen::Map<const Matrix3>(body + 4))),
            pin::SE3::Identity());
    }
    arm->data = pin::Data(arm->model);
    arm->q = arm->v = arm->a = Eigen::VectorXd::Zero(n);
    return arm;
}

extern "C" void arm_delete(void *arm) { delete static_cast<Arm *>(arm); }

// Visit every state: rows of q, v, a.
template <class Evaluate>
static void for_each_state(void *pointer, long count, const double *q, const double *v, const double *a,
                           Evaluate evaluate)
{
    Arm &arm = *static_cast<Arm *>(pointer);
    const long n = arm.model.nv;
    for (long i = 0; i < count; ++i) {
        arm.q = Row(q + i * n, n);
        arm.v = Row(v + i * n, n);
        arm.a = Row(a + i * n, n);
        evaluate(arm, i, n);
    }
}

// out has one row of efforts per state.
extern "C" void arm_rnea(void *pointer, long count, const double *q, const double *v, const double *a, double *out)
{
    for_each_state(pointer, count, q, v, a, [out](Arm &arm, long i, long n) {
        Eigen::Map<Eigen::VectorXd>(out + i * n, n) = pin::rnea(arm.model, arm.data, arm.q, arm.v, arm.a);
    });
}

using Square = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

// Derivatives by q and v, and the upper half of the mass matrix: three matrices n x n for each state.
extern "C" void arm_rnea_derivatives(void *pointer, long count, const double *q, const double *v, const double *a,
                                     double *by_q, double *by_v, double *by_a)
{
    for_each_state(pointer, count, q, v, a, [=](Arm &arm, long i, long n) {
        pin::computeRNEADerivatives(arm.model, arm.data, arm.q, arm.v, arm.a);
        Square(by_q + i * n * n, n, n) = arm.data.dtau_dq;
        Square(by_v + i * n * n, n, n) = arm.data.dtau_dv;
        Square(by_a + i * n * n, n, n) = arm.data.M;
    });
}

// The same of the accelerations under the efforts a; the upper half of the inverse mass matrix.
extern "C" void arm_aba_derivatives(void *pointer, long count, const double *q, const double *v, const double *a,
                                    double *by_q, double *by_v, double *by_a)
{
    for_each_state(pointer, count, q, v, a, [=](Arm &arm, long i, long n) {
        pin::computeABADerivatives(arm.model, arm.data, arm.q, arm.v, arm.a);
        Square(by_q + i * n * n, n, n) = arm.data.ddq_dq;
        Square(by_v + i * n * n, n, n) = arm.data.ddq_dv;
        Square(by_a + i * n * n, n, n) = arm.data.Minv;
    });
}
