// A dispatcher and endpoints on loopback ports, with a memory cluster.
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { boundPort } from "@isochrone/primitives";
import { createRegistry, seededRandom, systemClock, type Clock } from "@isochrone/runtime";
import { configWith, MemoryLogger } from "@isochrone/runtime/testing";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { createServer as createHttp1, type RequestListener, type Server } from "node:http";
import type { Server as NetServer, Socket } from "node:net";
import { createDispatcher } from "../dispatcher.ts";
import type { GraphReader } from "../round-trips.ts";
import { dispatcherSettings, type DispatcherConfig } from "../settings.ts";

const HOST = "127.0.0.1";
const NAMESPACE = "shop";

interface RigOptions {
  readonly config?: Partial<DispatcherConfig>;
  readonly clock?: Clock;
  readonly graphs?: GraphReader;
}

export interface RigEndpoint {
  readonly name: string;
  readonly port: number;
}

interface EndpointFields {
  readonly service?: string;
  readonly zone?: string;
  readonly node?: string;
  readonly conditions?: object;
}

interface PodFields {
  readonly labels: Record<string, string>;
  readonly node: string;
  readonly status?: object;
  readonly namespace?: string;
}

interface ServiceFields {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly appProtocol?: string;
  readonly port?: number;
}

export class DispatchRig {
  readonly clock: Clock;
  readonly logger = new MemoryLogger();
  readonly registry = createRegistry();
  readonly store;
  readonly dispatcher: ReturnType<typeof createDispatcher>;
  readonly #servers: { readonly server: NetServer; readonly sockets: Set<Socket> }[] = [];
  #count = 0;

  constructor({ config = {}, clock = systemClock, graphs = NO_GRAPHS }: RigOptions = {}) {
    this.clock = clock;
    this.store = createMemoryStore({ clock: systemClock });
    this.dispatcher = createDispatcher(dispatcherConfig(config), {
      store: this.store,
      graphs,
      clock,
      random: seededRandom(1),
      logger: this.logger,
      registry: this.registry,
    });
  }

  async start(): Promise<this> {
    await this.dispatcher.start();
    return this;
  }

  get url(): string {
    return `http://${HOST}:${this.port}`;
  }

  get port(): number {
    return this.dispatcher.port ?? 0;
  }

  async service(name: string, { annotations, appProtocol, port = 80 }: ServiceFields = {}): Promise<void> {
    await this.store.create({
      apiVersion: "v1",
      kind: "Service",
      metadata: {
        name,
        namespace: NAMESPACE,
        annotations: { "isochrone.dev/dispatch": "dispatcher", ...annotations },
      },
      spec: {
        clusterIP: "10.0.0.1",
        selector: { app: name },
        ports: [
          { name: "http", port, protocol: "TCP", ...(appProtocol === undefined ? {} : { appProtocol }) },
        ],
      },
    });
  }

  async endpoint(listener: RequestListener, fields: EndpointFields = {}): Promise<RigEndpoint> {
    return await this.serve(createHttp1({ keepAliveTimeout: 60_000 }, listener), fields);
  }

  async serve(server: Server | NetServer, fields: EndpointFields = {}): Promise<RigEndpoint> {
    const port = await this.listen(server);
    const name = `endpoint-${this.#count++}`;
    await this.slice(name, port, fields);
    return { name, port };
  }

  async listen(server: NetServer): Promise<number> {
    const sockets = new Set<Socket>();
    server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
    this.#servers.push({ server, sockets });
    await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
    return boundPort(server);
  }

  async slice(name: string, port: number, fields: EndpointFields = {}): Promise<void> {
    const { service = "web", zone = "west", node = "node-west", conditions = { ready: true } } = fields;
    const { metadata: pod } = await this.pod(name, { labels: { app: service }, node });
    await this.store.create({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        name,
        namespace: NAMESPACE,
        labels: {
          "kubernetes.io/service-name": service,
          "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        },
      },
      addressType: "IPv4",
      ports: [{ name: "http", port, protocol: "TCP" }],
      endpoints: [
        {
          addresses: [HOST],
          conditions,
          zone,
          nodeName: node,
          targetRef: { kind: "Pod", name, uid: pod.uid },
        },
      ],
    });
  }

  async pod(
    name: string,
    { labels, node, status = {}, namespace = NAMESPACE }: PodFields,
  ): Promise<KubernetesObject> {
    return await this.store.create({
      ...KINDS.pod,
      metadata: { name, namespace, labels },
      spec: { nodeName: node, containers: [] },
      status: { phase: "Running", podIP: HOST, ...status },
    });
  }

  async remove({ name }: RigEndpoint): Promise<void> {
    await this.store.delete({ ...KINDS.endpointSlice, name, namespace: NAMESPACE });
  }

  async metric(name: string): Promise<readonly { readonly value: number; readonly labels: object }[]> {
    const metric = await this.registry.getSingleMetric(`isochrone_dispatcher_${name}`)?.get();
    return metric?.values ?? [];
  }

  async stop(): Promise<void> {
    await this.dispatcher.stop();
    for (const { server, sockets } of this.#servers) {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  }
}

/** Validated defaults with overrides; any loopback port, no pages. */
export function dispatcherConfig(values: Partial<DispatcherConfig> = {}): DispatcherConfig {
  return configWith(dispatcherSettings, { host: HOST, port: 0, httpPort: 0, ...values });
}

const NO_GRAPHS: GraphReader = {
  cluster: (): Promise<ClusterGraphSnapshot> => Promise.reject(new Error("the aggregator is away")),
};
