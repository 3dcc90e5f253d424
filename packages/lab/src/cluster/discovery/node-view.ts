// Services, EndpointSlices and pods as seen from one node: in the emulated network the reachable address of
// an endpoint differs from node to node.
import { createInformer, isStoreError, keyOf, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, Informer, KubernetesObject } from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { endpointsOf } from "../controllers/endpoints.ts";
import type { ServiceEndpoints } from "../controllers/endpoints.ts";
import type { PodNetwork } from "../ports.ts";
import { Reconciler } from "../reconciler.ts";

interface NodeViewOptions {
  readonly node: string;
  readonly store: ClusterStore;
  readonly view: ClusterStore;
  readonly network: Pick<PodNetwork, "resolve">;
  readonly zoneOf: (node: string) => string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class NodeView {
  readonly #options: NodeViewOptions;
  readonly #services: Informer;
  readonly #pods: Informer;
  readonly #reconciler: Reconciler;
  #written = new Map<string, string>();

  constructor(options: NodeViewOptions) {
    this.#options = options;
    const { store, clock, random, logger, node } = options;
    this.#services = createInformer({ store, kind: KINDS.service, clock, random, logger });
    this.#pods = createInformer({ store, kind: KINDS.pod, clock, random, logger });
    this.#reconciler = new Reconciler({
      name: `view of ${node}`,
      reconcile: () => this.#reconcile(),
      clock,
      logger,
    });
    for (const informer of [this.#services, this.#pods]) informer.onChange(() => this.#reconciler.trigger());
  }

  async start(): Promise<void> {
    await Promise.all([this.#services.synced(), this.#pods.synced()]);
    this.#reconciler.start();
    await this.#reconciler.settled();
  }

  async stop(): Promise<void> {
    await this.#reconciler.stop();
    await Promise.all([this.#services.stop(), this.#pods.stop()]);
  }

  async #reconcile(): Promise<void> {
    const services = this.#services.items();
    const objects = await Promise.all(
      endpointsOf(services, this.#pods.items()).map((of, at) => this.#objectsOf(services[at]!, of)),
    );
    const wanted = new Map(
      [...services.map(bare), ...objects.flat(2)].map((object) => [nameOf(object), object]),
    );
    const written = new Map<string, string>();
    for (const [name, object] of wanted) {
      const text = JSON.stringify(object);
      if (this.#written.get(name) !== text) await this.#put(object);
      written.set(name, text);
    }
    for (const name of this.#written.keys()) if (!wanted.has(name)) await this.#drop(name);
    this.#written = written;
  }

  /** One slice per endpoint, because ports differ. */
  async #objectsOf(
    service: KubernetesObject,
    { endpoints }: ServiceEndpoints,
  ): Promise<KubernetesObject[][]> {
    const { node: here, network, zoneOf } = this.#options;
    const { namespace = "default", name } = service.metadata;
    const [first] = looseList<{ name: string }>(looseFields<{ ports: object[] }>(service.spec).ports);
    return await Promise.all(
      endpoints.map(async ({ node, port, identity: { pod } }) => {
        const reached = await network.resolve(here, node, { protocol: "tcp", port });
        const slice = {
          ...KINDS.endpointSlice,
          metadata: {
            namespace,
            name: `${name}-${pod}`,
            labels: {
              "kubernetes.io/service-name": name,
              "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            },
          },
          addressType: "IPv4",
          ports: [{ name: looseText(first?.name), port: reached.port, protocol: "TCP" }],
          endpoints: [
            {
              addresses: [reached.host],
              conditions: { ready: true, serving: true, terminating: false },
              nodeName: node,
              zone: zoneOf(node),
              targetRef: { kind: "Pod", namespace, name: pod },
            },
          ],
        };
        return [this.#podAt(namespace, pod, node, reached.host), slice];
      }),
    );
  }

  #podAt(namespace: string, name: string, node: string, podIP: string): KubernetesObject {
    const { labels = {} } = this.#pods.get(name, namespace)?.metadata ?? {};
    return {
      ...KINDS.pod,
      metadata: { namespace, name, labels },
      spec: { nodeName: node, containers: [] },
      status: { phase: "Running", podIP },
    };
  }

  async #put(object: KubernetesObject): Promise<void> {
    const { view } = this.#options;
    try {
      await view.create(object);
    } catch (error) {
      if (!isStoreError(error, "already_exists")) throw error;
      await view.update(object);
    }
  }

  async #drop(name: string): Promise<void> {
    const [kind, namespace, object] = name.split("/");
    const of = [KINDS.service, KINDS.pod].find((each) => each.kind === kind) ?? KINDS.endpointSlice;
    await this.#options.view.delete({ ...of, namespace: namespace!, name: object! });
  }
}

function nameOf(object: KubernetesObject): string {
  return `${object.kind}/${keyOf(object)}`;
}

function bare({ apiVersion, kind, metadata, spec }: KubernetesObject): KubernetesObject {
  const { name, namespace = "default", annotations = {} } = metadata;
  return { apiVersion, kind, metadata: { name, namespace, annotations }, spec: { ...spec } };
}
