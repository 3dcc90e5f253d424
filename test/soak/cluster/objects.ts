import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { hash, type PodIdentity, type World } from "./world.ts";

export function nodeObject(world: World, node: number): KubernetesObject {
  return {
    ...KINDS.node,
    metadata: {
      name: world.nodeName(node),
      labels: {
        "topology.kubernetes.io/zone": world.zone(node),
        "topology.kubernetes.io/region": world.region(node),
      },
    },
    status: {
      allocatable: { cpu: "16", memory: "64Gi" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}

/** A pod as parsed from a list or watch: no shared strings, realistic fields. */
export function podObject(world: World, pod: PodIdentity, version: number): KubernetesObject {
  return JSON.parse(JSON.stringify(podFields(world, pod, version))) as KubernetesObject;
}

function podFields(world: World, { slot, name, startMs }: PodIdentity, version: number): KubernetesObject {
  const workload = world.workloadName(world.workloadOfSlot(slot));
  const since = new Date(startMs).toISOString();
  const uid = `${hash(slot).toString(16).padStart(8, "0")}-0b6e-4f0e-9d8b-${hash(startMs).toString(16).padStart(12, "0")}`;
  return {
    ...KINDS.pod,
    metadata: {
      namespace: world.namespaceOf(world.workloadOfSlot(slot)),
      name,
      uid,
      resourceVersion: String(version),
      creationTimestamp: since,
      labels: {
        "app.kubernetes.io/name": workload,
        "app.kubernetes.io/instance": workload,
        "app.kubernetes.io/version": "1.27.3",
        "controller-revision-hash": `${workload}-6d8f7c5b9`,
        "statefulset.kubernetes.io/pod-name": name,
      },
      annotations: { "prometheus.io/scrape": "true", "prometheus.io/port": "9090" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "StatefulSet", name: workload, uid: workload, controller: true },
      ],
    },
    spec: {
      nodeName: world.nodeName(Math.floor(slot / world.shape.podsPerNode)),
      schedulerName: "default-scheduler",
      serviceAccountName: workload,
      volumes: [{ name: "token", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }],
      containers: [
        {
          name: "app",
          image: `registry.example.com/${workload}:1.27.3`,
          ports: [{ containerPort: 8080 }, { containerPort: 9090 }],
          env: [{ name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
          volumeMounts: [{ name: "token", mountPath: "/var/run/secrets/token" }],
          resources: { requests: { cpu: "100m", memory: "128Mi" } },
        },
      ],
      tolerations: [{ key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" }],
    },
    status: {
      phase: "Running",
      podIP: `10.${(slot >> 16) & 255}.${(slot >> 8) & 255}.${slot & 255}`,
      startTime: since,
      conditions: ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({
        type,
        status: "True",
        lastTransitionTime: since,
      })),
      containerStatuses: [
        { name: "app", ready: true, restartCount: 0, state: { running: { startedAt: since } } },
      ],
    },
  };
}
