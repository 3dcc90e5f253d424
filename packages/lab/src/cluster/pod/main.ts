// One pod: the application and its sidecar, on sockets of their own. Started by the kubelet stand-in with an IPC channel.
// Imports are few on purpose: seventeen of these start at once on a small machine.
import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setPriority } from "node:os";
import { SIDECAR_METRICS_PATH } from "../names.ts";
import { Application } from "./application.ts";
import type { FromPod, PodConfig, ToPod, Usage } from "./protocol.ts";
import { Sidecar } from "./sidecar.ts";

/** Below the probes and the relay, so that the work of pods doesn't disturb measuring. */
const NICE = 5;
const LOOPBACK = "127.0.0.1";

const send = (message: FromPod, after?: () => void): void => {
  if (process.connected) process.send!(message, undefined, undefined, () => after?.());
  else after?.();
};

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  return { timeMs: Date.now(), cpuSeconds: (user + system) / 1e6, memoryBytes: process.memoryUsage.rss() };
}

function listen(handler: RequestListener, host: string, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer({ keepAliveTimeout: 65_000, requestTimeout: 0 }, handler);
    server.on("error", (error: NodeJS.ErrnoException) => {
      // The port of the previous run may have been taken meanwhile; any other will do.
      if (port !== 0 && error.code === "EADDRINUSE") resolve(listen(handler, host, 0));
      else reject(error);
    });
    server.listen(port, host, () => resolve(server));
  });
}

const addressOf = (server: Server): { host: string; port: number } => ({
  host: LOOPBACK,
  port: (server.address() as AddressInfo).port,
});

class Pod {
  readonly #application: Application;
  readonly #sidecar: Sidecar;
  readonly #config: PodConfig;
  #applicationAddress = { host: LOOPBACK, port: 0 };
  #outboundAddress = { host: LOOPBACK, port: 0 };

  constructor(config: PodConfig) {
    const monotonic = (): number => performance.now();
    const { identity, behaviour } = config;
    this.#config = config;
    this.#application = new Application({
      workload: identity.workload,
      behaviour,
      outbound: () => this.#outboundAddress,
      monotonic,
    });
    this.#sidecar = new Sidecar({ config, application: () => this.#applicationAddress, monotonic });
  }

  async start(): Promise<void> {
    const { identity, port, metricsPort, usageIntervalMs } = this.#config;
    this.#applicationAddress = addressOf(await listen(this.#application.handle, LOOPBACK, 0));
    this.#outboundAddress = addressOf(await listen(this.#sidecar.outbound, LOOPBACK, 0));
    const inbound = await listen(this.#sidecar.inbound, identity.address, port);
    const metrics = await listen(this.#servePage, identity.address, metricsPort);
    send({ type: "listening", port: addressOf(inbound).port, metricsPort: addressOf(metrics).port });
    setInterval(
      () => send({ type: "usage", usage: usage(), received: this.#application.received() }),
      usageIntervalMs,
    );
  }

  handle(message: ToPod): void {
    if (message.type === "routes") this.#sidecar.setRoutes(message.routes);
    else if (message.type === "counts")
      send({ type: "counts", id: message.id, received: this.#application.received() });
    else if (message.type === "stop")
      send({ type: "final", usage: usage(), received: this.#application.received() }, () => process.exit(0));
  }

  readonly #servePage: RequestListener = (incoming, outgoing) => {
    const path = (incoming.url ?? "").split("?")[0];
    if (path === SIDECAR_METRICS_PATH)
      outgoing
        .writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" })
        .end(this.#sidecar.metrics.render());
    else if (path === "/healthz/ready") outgoing.writeHead(200).end();
    else outgoing.writeHead(404).end();
  };
}

try {
  setPriority(0, NICE);
} catch {
  // Some systems forbid it; the pod then runs with the priority of its parent.
}
// The kubelet decides when a pod ends; Ctrl-C in a terminal reaches the whole process group.
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit(0));

let pod: Pod | null = null;
process.on("message", (message: ToPod) => {
  if (message.type === "configure") begin(message.config);
  else pod?.handle(message);
});
process.on("SIGTERM", () => (pod === null ? process.exit(0) : pod.handle({ type: "stop" })));

function begin(config: PodConfig): void {
  pod = new Pod(config);
  pod.start().catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    send({ type: "failed", reason }, () => process.exit(1));
  });
}
