import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Clock } from "@isochrone/runtime";
import { clientKey, limitStall, Tally } from "@isochrone/runtime/http";
import { ProblemSchema, type GraphEvent } from "@isochrone/topology";
import { Type, type Static } from "typebox";
import { AggregatorError } from "../ports/errors.ts";
import type { GraphKeeper } from "../domain/graphs/graph-keeper.ts";
import { NOTHING_ELSE } from "./query.ts";

/** Lets proxies and clients distinguish an idle stream from a dead one. */
const HEARTBEAT_MS = 15_000;
const HEARTBEAT = Buffer.from(": heartbeat\n\n");
const SNAPSHOT_PATH = "/api/v1/graph/cluster";

const EventsQuery = Type.Object(
  {
    changes: Type.Optional(
      Type.Literal("none", {
        description:
          "Only version and observedAt of each event: for who reads the graph anyway. In large clusters what changed is megabytes per version",
      }),
    ),
  },
  NOTHING_ELSE,
);
type EventsQuery = Static<typeof EventsQuery>;

/** Delays the reconnection of an evicted client, so that it does not evict the next one. */
const GAVE_WAY = Buffer.from("retry: 15000\n\n");

/** Time for a client to read the end of its stream. */
const END_MS = 5_000;

interface Client {
  /** Account or address that places are counted by. */
  readonly key: string;
  isStillAllowed(): boolean | Promise<boolean>;
  /** True: receives only version numbers. */
  readonly isBrief: boolean;
}

interface EventStreamOptions {
  readonly keeper: GraphKeeper;
  readonly clock: Clock;
  readonly maxClients: number;
  readonly maxBufferedBytes: number;
  onDropped(reason: "slow" | "too_many" | "not_allowed" | "gave_way"): void;
}

/**
 * Serves `GET /api/v1/events`: one event per version, to a limited number of streams. When all places are
 * taken, the client with the most streams loses its oldest one, so that no client can exclude the others.
 */
export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #clients = new Map<ServerResponse, Client>();
  readonly #perClient = new Tally();
  readonly #stopped = new AbortController();
  readonly #unlisten: () => void;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#unlisten = options.keeper.listen((event) => this.#announce(event));
    void this.#heartbeat();
  }

  get clients(): number {
    return this.#clients.size;
  }

  register(app: FastifyInstance): void {
    app.get<{ Headers: { "last-event-id"?: string }; Querystring: EventsQuery }>(
      "/api/v1/events",
      {
        // A HEAD response would never end.
        exposeHeadRoute: false,
        config: { isHeld: true },
        schema: {
          summary:
            "Server-sent events: `graph` with what changed, `reset` where the client has to read the snapshot again",
          headers: Type.Object({ "last-event-id": Type.Optional(Type.String({ maxLength: 200 })) }),
          querystring: EventsQuery,
          response: {
            200: { content: { "text/event-stream": { schema: Type.String() } } },
            400: ProblemSchema,
            503: ProblemSchema,
          },
        },
      },
      (request, reply) => {
        const key = placeKey(request);
        if (!this.#hasPlaceFor(key)) {
          this.#options.onDropped("too_many");
          throw new AggregatorError(
            "too_many_clients",
            `the event stream serves ${this.#options.maxClients} clients at most`,
          );
        }
        // Copies headers set by hooks, such as X-Request-Id.
        const headers = reply.getHeaders();
        reply.hijack();
        const isBrief = request.query.changes === "none";
        this.#clients.set(reply.raw, { key, isBrief, isStillAllowed: () => request.isStillAllowed() });
        this.#perClient.increment(key);
        this.#open(reply.raw, headers, this.#greeting(request.headers["last-event-id"], isBrief));
      },
    );
  }

  #hasPlaceFor(key: string): boolean {
    const { maxClients } = this.#options;
    if (this.#clients.size < maxClients) return true;
    const own = this.#perClient.of(key);
    const heaviest = this.#perClient.heaviest;
    // A client with more than half of the places loses its own oldest stream. Otherwise the client with the
    // most loses one, if it would still have as many.
    if (own > maxClients / 2) this.#giveWay(key);
    else if (heaviest !== null && this.#perClient.of(heaviest) > own + 1) this.#giveWay(heaviest);
    else return false;
    return true;
  }

  #giveWay(key: string): void {
    for (const [response, client] of this.#clients) {
      if (client.key !== key) continue;
      this.#end(response, GAVE_WAY);
      this.#options.onDropped("gave_way");
      return;
    }
  }

  #end(response: ServerResponse, last?: Buffer): boolean {
    if (!this.#forget(response)) return false;
    response.end(last);
    // A client that does not read would keep its connection and queue.
    limitStall(response, END_MS);
    return true;
  }

  #forget(response: ServerResponse): boolean {
    const client = this.#clients.get(response);
    if (client === undefined) return false;
    this.#clients.delete(response);
    this.#perClient.decrement(client.key);
    return true;
  }

  /** Ends all streams, because a server waits for them when it closes. */
  close(): void {
    this.#unlisten();
    this.#stopped.abort();
    for (const client of this.#clients.keys()) {
      this.#forget(client);
      client.end();
    }
  }

  #open(response: ServerResponse, headers: Record<string, unknown>, greeting: string): void {
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined) response.setHeader(name, value as string);
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    response.on("close", () => this.#forget(response));
    response.on("error", () => this.#forget(response));
    this.#send(response, Buffer.from(`retry: 1000\n\n${greeting}`));
  }

  /** First event: the missed events or a reset. A new client gets the newest event. */
  #greeting(lastEventId: string | undefined, isBrief: boolean): string {
    const { keeper } = this.#options;
    if (lastEventId === undefined || lastEventId === "") {
      const newest = keeper.history.newest;
      return newest === null ? "" : this.#format(newest, isBrief);
    }
    const resume = keeper.history.after(lastEventId);
    if (resume.kind === "replay") {
      const replay = this.#replay(resume.events, isBrief);
      if (replay !== null) return replay;
    }
    const version = keeper.newest?.version ?? 0;
    const data = JSON.stringify({ version, snapshot: SNAPSHOT_PATH });
    return `event: reset\nid: ${keeper.history.idOf(version)}\ndata: ${data}\n\n`;
  }

  /** Returns null if the replay exceeds the queue limit; a snapshot is then cheaper. */
  #replay(events: readonly GraphEvent[], isBrief: boolean): string | null {
    let text = "";
    for (const event of events) {
      text += this.#format(event, isBrief);
      if (text.length > this.#options.maxBufferedBytes) return null;
    }
    return text;
  }

  #format(event: GraphEvent, isBrief: boolean): string {
    const { version, observedAt } = event;
    const data = JSON.stringify(isBrief ? { version, observedAt } : event);
    return `event: graph\nid: ${this.#options.keeper.history.idOf(version)}\ndata: ${data}\n\n`;
  }

  /** Serializes once per kind of client, and only if there is one. */
  #announce(event: GraphEvent): void {
    const texts = new Map<boolean, Buffer>();
    for (const [response, { isBrief }] of this.#clients) {
      let text = texts.get(isBrief);
      if (text === undefined) texts.set(isBrief, (text = Buffer.from(this.#format(event, isBrief))));
      this.#send(response, text);
    }
  }

  #send(client: ServerResponse, text: Buffer): void {
    if (client.writableLength > this.#options.maxBufferedBytes) {
      this.#forget(client);
      client.destroy();
      this.#options.onDropped("slow");
      return;
    }
    client.write(text);
  }

  async #heartbeat(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        await this.#options.clock.sleep(HEARTBEAT_MS, signal);
      } catch {
        return;
      }
      for (const [response, client] of this.#clients) {
        this.#send(response, HEARTBEAT);
        void this.#review(response, client);
      }
    }
  }

  /** A stream outlives its token; the client reconnects with the next one. */
  async #review(response: ServerResponse, client: Client): Promise<void> {
    if (await client.isStillAllowed()) return;
    if (!this.#end(response)) return;
    this.#options.onDropped("not_allowed");
  }
}

/** Pods of one account share its places. Anonymous clients count by address. */
function placeKey(request: FastifyRequest): string {
  return request.principal?.user ?? clientKey(request);
}
