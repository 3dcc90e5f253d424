import type { KubernetesObject } from "@isochrone/kubernetes";
import { object, onNodes, type Json, type Labels } from "./words.ts";

export const NAMESPACES: Readonly<Record<string, Labels>> = {
  front: { team: "a", stage: "prod" },
  back: { team: "b", stage: "prod" },
  tests: { team: "a", stage: "test" },
};
export const PRIORITIES: Readonly<Record<string, number>> = { low: 100, high: 1000 };
export const CSI_DRIVER = "disk.example.com";
/** Volumes of every kind that the model judges. Every namespace has a claim with each name. */
export const VOLUMES: readonly { readonly name: string; readonly labels?: Labels; readonly spec: Json }[] = [
  { name: "anywhere", spec: { nfs: { server: "nfs", path: "/" } } },
  {
    name: "zone-0",
    labels: { "topology.kubernetes.io/zone": "z0" },
    spec: { nfs: { server: "nfs", path: "/0" } },
  },
  {
    name: "zone-0-1",
    labels: { "failure-domain.beta.kubernetes.io/zone": "z0__z1" },
    spec: { nfs: { server: "nfs", path: "/01" } },
  },
  { name: "ssd-only", spec: { hostPath: { path: "/ssd" }, nodeAffinity: onNodes("disk", "In", ["ssd"]) } },
  {
    name: "slots",
    spec: { local: { path: "/disk" }, nodeAffinity: onNodes("slot", "In", ["s1", "s2", "s3"]) },
  },
  { name: "exclusive", spec: { nfs: { server: "nfs", path: "/one" }, accessModes: ["ReadWriteOncePod"] } },
  ...["csi-1", "csi-2", "csi-3"].map((name) => ({ name, spec: { csi: { driver: CSI_DRIVER } } })),
];

export function sharedObjects(): KubernetesObject[] {
  const namespaces = Object.entries(NAMESPACES).map(([name, labels]) =>
    object("v1", "Namespace", { name, labels }),
  );
  const priorities = Object.entries(PRIORITIES).map(([name, value]) => {
    return { ...object("scheduling.k8s.io/v1", "PriorityClass", { name }), value };
  });
  const sandbox = {
    ...object("node.k8s.io/v1", "RuntimeClass", { name: "sandbox" }),
    handler: "sandbox",
    overhead: { podFixed: { cpu: "250m", memory: "120Mi" } },
  };
  const volumes = Object.keys(NAMESPACES).flatMap((namespace) =>
    VOLUMES.flatMap((volume) => boundVolume(volume, namespace)),
  );
  return [...namespaces, ...priorities, sandbox, ...volumes];
}

function boundVolume(
  { name, labels = {}, spec }: (typeof VOLUMES)[number],
  namespace: string,
): KubernetesObject[] {
  const volumeName = `${namespace}-${name}`;
  const accessModes = spec["accessModes"] ?? ["ReadWriteMany"];
  const storage = "1Gi";
  const csi = spec["csi"] === undefined ? {} : { csi: { driver: CSI_DRIVER, volumeHandle: volumeName } };
  return [
    {
      ...object("v1", "PersistentVolume", { name: volumeName, labels }),
      spec: { ...spec, ...csi, accessModes, capacity: { storage }, claimRef: { namespace, name } },
    },
    {
      ...object("v1", "PersistentVolumeClaim", {
        name,
        namespace,
        annotations: { "pv.kubernetes.io/bind-completed": "yes" },
      }),
      spec: { volumeName, accessModes, storageClassName: "", resources: { requests: { storage } } },
    },
  ];
}
