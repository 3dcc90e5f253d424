// Fills one template per kind with varying numbers, which costs almost nothing.
import { DEPLOYMENTS, NODES, POD_BYTES, WORKFLOWS } from "./load.ts";

/** Numbers of one object, by the words between # in its kind's template. */
export type Numbers = Readonly<Record<string, number>>;

const NAMESPACES = 200;
/** A prime, so that the pods of a workload are on many nodes. */
const SPREAD = 7_919;
const WORD = /#([a-z]+)#/g;
const DIGITS = 6;
/** Placeholder of a word until its digits replace it. */
const MARK = /~(\d{4})~/g;

/** A kind's objects in one form: JSON unless `encode` makes another. */
export class Template {
  readonly #bytes: Buffer;
  readonly #places: readonly { readonly at: number; readonly name: string }[];

  constructor(object: object, encode: (object: Record<string, unknown>) => Buffer = asJson) {
    const names: string[] = [];
    const marked = JSON.stringify(object).replaceAll(WORD, (_, name: string) => {
      if (!names.includes(name)) names.push(name);
      return `~${String(names.indexOf(name)).padStart(DIGITS - 2, "0")}~`;
    });
    this.#bytes = encode(JSON.parse(marked) as Record<string, unknown>);
    this.#places = [...this.#bytes.toString("latin1").matchAll(MARK)].map(({ index, 1: name }) => ({
      at: index,
      name: names[Number(name)]!,
    }));
  }

  get bytes(): number {
    return this.#bytes.length;
  }

  /** Returns the end offset of the object. */
  write(into: Buffer, from: number, numbers: Numbers): number {
    this.#bytes.copy(into, from);
    for (const { at, name } of this.#places) {
      let rest = numbers[name]!;
      for (let digit = from + at + DIGITS; digit-- > from + at; rest = Math.floor(rest / 10))
        into[digit] = 0x30 + (rest % 10);
    }
    return from + this.#bytes.length;
  }

  object(numbers: Numbers): Buffer {
    const buffer = Buffer.allocUnsafe(this.bytes);
    this.write(buffer, 0, numbers);
    return buffer;
  }
}

function asJson(object: object): Buffer {
  return Buffer.from(JSON.stringify(object));
}

export function podNumbers(index: number): Numbers {
  const numbers = workloadNumbers(index % DEPLOYMENTS);
  return { ...numbers, pod: index, node: (index * SPREAD) % NODES, version: index, age: 0 };
}

export function nodeNumbers(index: number): Numbers {
  return { node: index, zone: index % 9, version: index };
}

export function replicaSetNumbers(index: number): Numbers {
  return {
    ...workloadNumbers(index % DEPLOYMENTS),
    revision: Math.floor(index / DEPLOYMENTS),
    version: index,
  };
}

/** Five workloads per workflow. A workflow is within one namespace. */
export function workloadNumbers(index: number): Numbers {
  const workflow = index % WORKFLOWS;
  return { workload: index, workflow, namespace: workflow % NAMESPACES, version: index };
}

export function podObject(isReady: boolean): object {
  const object = {
    metadata: {
      ...metadata("web-#workload#-000000-#pod#-#age#", "pod-#pod#-#age#"),
      namespace: "shop-#namespace#",
      generateName: "web-#workload#-000000-",
      labels: {
        app: "web-#workload#",
        "app.kubernetes.io/managed-by": "Helm",
        "pod-template-hash": "000000",
        "isochrone.dev/workflow": "checkout-#workflow#",
      },
      annotations: { "prometheus.io/scrape": "true", "prometheus.io/port": "9090" },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: "web-#workload#-000000",
          uid: "rs-#workload#-000000",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      managedFields: managedFields(["kube-controller-manager", "kube-scheduler", "kubelet"], 60),
    },
    spec: {
      nodeName: "node-#node#",
      serviceAccountName: "web",
      schedulerName: "default-scheduler",
      containers: [
        {
          name: "main",
          image: "registry.example.com/team/web:1.2.3",
          resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
          env: [] as object[],
        },
      ],
    },
    status: {
      phase: "Running",
      podIP: "10.1.2.3",
      conditions: ["Ready", "Initialized", "ContainersReady", "PodScheduled"].map((type) => ({
        type,
        status: type !== "Ready" || isReady ? "True" : "False",
        lastTransitionTime: "2026-01-02T03:04:05Z",
      })),
    },
  };
  const env = object.spec.containers[0]!.env;
  while (JSON.stringify(object).length < POD_BYTES)
    env.push({ name: `SETTING_${env.length}`, value: "x".repeat(60) });
  return object;
}

/** @param annotations written by Isochrone */
export function nodeObject(annotations: Readonly<Record<string, string>>): object {
  const amounts = { cpu: "32", memory: "256Gi", pods: "110", "network.aware.com/bandwidth": "10G" };
  return {
    metadata: {
      ...metadata("node-#node#", "node-#node#"),
      labels: {
        "kubernetes.io/hostname": "node-#node#",
        "topology.kubernetes.io/zone": "z#zone#",
        "topology.kubernetes.io/region": "r1",
      },
      annotations,
      managedFields: managedFields(["kubelet"], 40),
    },
    spec: {},
    status: {
      capacity: amounts,
      allocatable: amounts,
      conditions: [{ type: "Ready", status: "True" }],
      images: Array.from({ length: 40 }, (_, i) => ({
        names: [`registry.example.com/image-${i}@sha256`],
        sizeBytes: 1,
      })),
    },
  };
}

export function replicaSetObject(): object {
  return {
    metadata: {
      ...metadata("web-#workload#-#revision#", "rs-#workload#-#revision#"),
      namespace: "shop-#namespace#",
      labels: { app: "web-#workload#", "pod-template-hash": "#revision#" },
      annotations: {
        "deployment.kubernetes.io/desired-replicas": "20",
        "deployment.kubernetes.io/revision": "1",
      },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          name: "web-#workload#",
          uid: "deployment-#workload#",
          controller: true,
        },
      ],
      managedFields: managedFields(["kube-controller-manager"], 20),
    },
  };
}

export function deploymentObject(): object {
  const labels = { app: "web-#workload#", "isochrone.dev/workflow": "checkout-#workflow#" };
  return {
    metadata: {
      ...metadata("web-#workload#", "deployment-#workload#"),
      namespace: "shop-#namespace#",
      labels,
      managedFields: managedFields(["helm", "kube-controller-manager"], 40),
    },
    spec: {
      replicas: 20,
      selector: { matchLabels: { app: "web-#workload#" } },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "x".repeat(1_000) }] } },
    },
    status: { readyReplicas: 20 },
  };
}

function managedFields(managers: readonly string[], count: number): object[] {
  const fieldsV1 = Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`f:field-${i}`, { ".": {}, "f:value": {} }]),
  );
  return managers.map((manager) => ({
    manager,
    operation: "Update",
    apiVersion: "v1",
    time: "2026-01-02T03:04:05Z",
    fieldsType: "FieldsV1",
    fieldsV1,
  }));
}

function metadata(name: string, uid: string): Record<string, string> {
  return { name, uid, resourceVersion: "1#version#", creationTimestamp: "2026-01-02T03:04:05Z" };
}
