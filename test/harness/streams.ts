import { join } from "node:path";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";

const ROOT = join(import.meta.dirname, "../..");

export const STREAM_CRDS: readonly string[] = [
  join(ROOT, "helm/isochrone/crds/isochrone.dev_flownetworks.yaml"),
  join(ROOT, "helm/isochrone/crds/isochrone.dev_streamjobs.yaml"),
];

export const STREAM_CRD_NAMES: readonly string[] = [
  "crd/flownetworks.isochrone.dev",
  "crd/streamjobs.isochrone.dev",
];

type Json = Readonly<Record<string, unknown>>;

export function streamTask(name: string, fields: object = {}): Json {
  return {
    name,
    requests: { cpu: "500m", memory: "128Mi" },
    profile: [{ secondsPerFrame: 0.1 }],
    template: {
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: "stage", image: "example.com/stage:1" }],
      },
    },
    ...fields,
  };
}

/** A job of two tasks with a source on node `n0`. */
export function streamJob(namespace: string, name: string, spec: object = {}): KubernetesObject {
  return {
    ...KINDS.streamJob,
    metadata: { namespace, name },
    spec: {
      source: { node: "n0", bytesPerFrame: 250_000 },
      tasks: [
        streamTask("decode", { downstream: [{ task: "detect", bytesPerFrame: 125_000, port: 7000 }] }),
        streamTask("detect"),
      ],
      ...spec,
    },
  };
}

export function flowNetwork(name: string, links: readonly Json[]): KubernetesObject {
  return { ...KINDS.flowNetwork, metadata: { name }, spec: { links } };
}
