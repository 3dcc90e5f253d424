type Fields = Readonly<Record<string, unknown>>;

const at = "2026-01-02T03:04:05Z";
const state = (name: string, states: Fields): Fields => ({
  name,
  ready: false,
  restartCount: 0,
  image: "i",
  imageID: "",
  ...states,
});

export const EVERY_STATUS = {
  phase: "Running",
  observedGeneration: 3,
  conditions: [
    {
      type: "Ready",
      status: "False",
      lastProbeTime: null,
      lastTransitionTime: at,
      reason: "R",
      message: "m",
    },
    {
      type: "PodScheduled",
      status: "True",
      lastProbeTime: at,
      lastTransitionTime: null,
      observedGeneration: 2,
    },
  ],
  message: "m",
  reason: "r",
  nominatedNodeName: "n1",
  hostIP: "10.0.0.1",
  hostIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
  podIP: "10.1.0.1",
  podIPs: [{ ip: "10.1.0.1" }, { ip: "fd01::1" }],
  startTime: "1969-12-31T23:59:59Z",
  initContainerStatuses: [
    state("first", {
      state: { terminated: { exitCode: 0, startedAt: at, finishedAt: at, containerID: "c://1" } },
    }),
  ],
  containerStatuses: [
    state("main", {
      ready: true,
      started: true,
      restartCount: 4,
      state: { running: { startedAt: at } },
      lastState: {
        terminated: {
          exitCode: 137,
          signal: 9,
          reason: "OOMKilled",
          message: "m",
          startedAt: null,
          finishedAt: at,
        },
      },
      imageID: "sha256:1",
      containerID: "c://2",
      allocatedResources: { cpu: "500m" },
      resources: { requests: { cpu: "500m" }, limits: {} },
      volumeMounts: [
        {
          name: "host",
          mountPath: "/host",
          readOnly: true,
          recursiveReadOnly: "Enabled",
          volumeStatus: { image: { imageRef: "sha256:2" } },
        },
      ],
      user: { linux: { uid: 0, gid: 1000, supplementalGroups: [0, 5] } },
      allocatedResourcesStatus: [
        { name: "example.com/gpu", resources: [{ resourceID: "g0", health: "Healthy" }] },
      ],
      stopSignal: "SIGTERM",
    }),
    state("bare", { state: { waiting: { reason: "CrashLoopBackOff", message: "back-off" } } }),
    state("side", { state: { running: {} }, started: false }),
  ],
  ephemeralContainerStatuses: [state("debug", { state: { waiting: {} } })],
  qosClass: "Burstable",
  resize: "Proposed",
  resourceClaimStatuses: [{ name: "gpu", resourceClaimName: "c1" }, { name: "net" }],
  allocatedResources: { cpu: "1" },
  resources: { requests: { cpu: "1" } },
  volumeHealth: [
    {
      name: "csi",
      healthConditions: [{ status: "Inaccessible", reason: "r", message: "m" }],
      lastTransitionTime: at,
    },
  ],
  nodeAllocatableResourceClaimStatuses: [
    { resourceClaimName: "c1", containers: ["main"], resources: { cpu: "1" } },
  ],
  extendedResourceClaimStatus: {
    requestMappings: [{ containerName: "main", resourceName: "example.com/gpu", requestName: "r" }],
    resourceClaimName: "c",
  },
};
