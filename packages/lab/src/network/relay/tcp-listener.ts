import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { boundPort } from "@isochrone/primitives";
import type { Listener, RelayContext } from "./context.ts";
import type { ExposePlan, ListenerPlan } from "./messages.ts";
import type { Pair } from "./pair.ts";
import { TcpConnection } from "./tcp-connection.ts";

const MAX_CONNECTIONS = 2048;

export class TcpListener implements Listener {
  readonly #server: Server;
  readonly #connections = new Set<TcpConnection>();

  static async open(
    this: void,
    context: RelayContext,
    expose: ExposePlan,
    plan: ListenerPlan,
    pair: Pair,
  ): Promise<TcpListener> {
    const listener = new TcpListener(context, expose, plan, pair);
    const server = listener.#server;
    server.listen({ host: plan.host, port: plan.port, exclusive: true, backlog: 512 });
    await once(server, "listening");
    server.on("error", (error) =>
      context.fault("tcp listener failed", `${plan.host}:${plan.port}: ${error.message}`),
    );
    return listener;
  }

  private constructor(context: RelayContext, expose: ExposePlan, plan: ListenerPlan, pair: Pair) {
    this.#server = createServer({ allowHalfOpen: true }, (client) => {
      const connection = new TcpConnection(context, expose, plan, pair, client);
      this.#connections.add(connection);
      client.once("close", () => this.#connections.delete(connection));
    });
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  get port(): number {
    return boundPort(this.#server);
  }

  close(): void {
    this.#server.close();
    for (const connection of this.#connections) connection.destroy();
  }
}
