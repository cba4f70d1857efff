/* model/articulation: the joints of articulated bodies. */
#ifndef CSIM_TREE_JOINT_H
#define CSIM_TREE_JOINT_H

/* How a link moves against its parent. Axes and origin of the joint are those of the link. */
typedef enum csim_tree_joint {
    CSIM_TREE_FIXED,     /* not at all: 0 coordinates */
    CSIM_TREE_REVOLUTE,  /* turns about an axis: 1, rad */
    CSIM_TREE_PRISMATIC, /* slides along an axis: 1, m */
    CSIM_TREE_BALL,      /* turns about a point: 3 rates (angular velocity against the parent, world axes), position a
                            quaternion */
    CSIM_TREE_FLOATING,  /* free, roots only: 6 rates (velocity of the link's origin, angular velocity; world axes),
                            position x y z and a quaternion */
    CSIM_TREE_JOINT_COUNT_
} csim_tree_joint;

#endif
