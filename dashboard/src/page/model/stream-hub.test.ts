import { afterEach, expect, test } from "vitest";
import { StreamHub, type HubMessage, type TabPort } from "./stream-hub.ts";

class Tab implements TabPort {
  readonly told: HubMessage[] = [];

  tell(message: HubMessage): void {
    this.told.push(message);
  }

  get state(): boolean | null | undefined {
    return this.told.findLast((message) => message.kind === "state")?.isOpen;
  }

  get events(): number {
    return this.told.filter(({ kind }) => kind === "event").length;
  }
}

class Server {
  readonly opened: Headers[] = [];
  readonly #open = new Set<ReadableStreamDefaultController<Uint8Array>>();
  status = 200;

  get streams(): number {
    return this.#open.size;
  }

  readonly open = async (_url: string, { headers, signal }: RequestInit): Promise<Response> => {
    this.opened.push(new Headers(headers));
    if (this.status !== 200) return new Response("", { status: this.status });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#open.add(controller);
        signal?.addEventListener("abort", () => {
          if (this.#open.delete(controller)) controller.error(new Error("aborted"));
        });
      },
    });
    return new Response(body);
  };

  publish(): void {
    for (const stream of this.#open)
      stream.enqueue(new TextEncoder().encode(`event: graph\nid: e-${this.opened.length}\ndata: {}\n\n`));
  }

  restart(): void {
    for (const stream of this.#open) stream.close();
    this.#open.clear();
  }
}

const URL = "http://127.0.0.1/api/v1/events";
const follow = (token = "") => ({ kind: "follow", url: URL, token }) as const;
const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

function rig() {
  const server = new Server();
  let now = 0;
  const hub = new StreamHub({ open: server.open, nowMs: () => now, retryMs: 1 });
  const tabs = Array.from({ length: 20 }, () => new Tab());
  stops.push(() => tabs.forEach((tab) => hub.receive(tab, { kind: "leave" })));
  return { server, hub, tabs, pass: (ms: number) => (now += ms) };
}

test("twenty tabs share one stream, and it ends with the last of them", async () => {
  const { server, hub, tabs } = rig();
  for (const tab of tabs) hub.receive(tab, follow());
  await expect.poll(() => tabs.map(({ state }) => state)).toEqual(tabs.map(() => true));
  server.publish();
  await expect.poll(() => tabs.map(({ events }) => events)).toEqual(tabs.map(() => 1));
  expect(server.opened).toHaveLength(1);
  for (const tab of tabs.slice(1)) hub.receive(tab, { kind: "leave" });
  expect(server.streams).toBe(1);
  hub.receive(tabs[0]!, { kind: "leave" });
  expect(server.streams).toBe(0);
});

test("a tab gets events of its own token's stream only, and streams have a bound", async () => {
  const { server, hub, tabs } = rig();
  for (const [index, tab] of tabs.entries()) hub.receive(tab, follow(`t${index}`));
  await expect.poll(() => server.streams).toBe(3);
  expect(server.opened.map((headers) => headers.get("authorization"))).toEqual([
    "Bearer t0",
    "Bearer t1",
    "Bearer t2",
  ]);
  expect(tabs[3]!.state).toBe(false);
  hub.receive(tabs[2]!, follow("t0"));
  hub.receive(tabs[3]!, follow("t3"));
  await expect.poll(() => tabs[3]!.state).toBe(true);
  expect(server.streams).toBe(3);
  server.publish();
  await expect.poll(() => tabs.map(({ events }) => events).slice(0, 5)).toEqual([1, 1, 1, 1, 0]);
});

test("a crashed tab is dropped after its lease, and one that was only slow is back with the next", async () => {
  const { server, hub, tabs, pass } = rig();
  const [crashed, alive] = [tabs[0]!, tabs[1]!];
  hub.receive(crashed, follow("a"));
  hub.receive(alive, follow("b"));
  await expect.poll(() => server.streams).toBe(2);
  pass(170_000);
  hub.receive(alive, follow("b"));
  expect(server.streams).toBe(2);
  pass(20_000);
  hub.receive(alive, follow("b"));
  expect(server.streams).toBe(1);
  hub.receive(crashed, follow("a"));
  await expect.poll(() => crashed.state).toBe(true);
});

test("all tabs learn of a restart, and go on from the last event over one new stream", async () => {
  const { server, hub, tabs } = rig();
  for (const tab of tabs) hub.receive(tab, follow());
  await expect.poll(() => server.streams).toBe(1);
  server.publish();
  await expect.poll(() => tabs[0]!.events).toBe(1);
  server.status = 503;
  server.restart();
  await expect.poll(() => tabs.map(({ state }) => state)).toEqual(tabs.map(() => false));
  server.status = 200;
  await expect.poll(() => tabs.map(({ state }) => state)).toEqual(tabs.map(() => true));
  expect(server.streams).toBe(1);
  expect(server.opened.at(-1)!.get("last-event-id")).toBe("e-1");
});
