// The SDK's client queries a whole aggregator through the command, over stdio and HTTP.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { fill, podObject, startAggregator, type RunningAggregator } from "@isochrone/aggregator/testing";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const MAIN = new URL("../main.ts", import.meta.url).pathname;
const NODE = ["--disable-warning=ExperimentalWarning", MAIN];
const TOKEN = "a-token-that-the-graph-api-knows";
const WORKLOADS = 600;
const NAMES = ["bill", "cluster_graph", "explain", "health", "plan", "savings", "workflow_graph"];

let running: RunningAggregator;
let url: string;

async function start(isClosed: boolean): Promise<RunningAggregator> {
  const gate = {
    check: ({ authorization }: { readonly authorization: string | undefined }) =>
      authorization === `Bearer ${TOKEN}`
        ? null
        : ({ status: 401, code: "unauthenticated", detail: "a token must be given" } as const),
  };
  const access = isClosed ? { access: { gate, isMetricsOpen: true } } : {};
  const started = await startAggregator({ parts: access });
  const names = Array.from({ length: WORKLOADS }, (_, index) => `workload-${index}`);
  const labels = { "isochrone.dev/workflow": "flow" };
  await fill(
    started.store,
    names.map((name) => podObject("shop", name, "a", { labels })),
  );
  await started.clock.advance(2000);
  return started;
}

const urlOf = ({ aggregator }: RunningAggregator): string => aggregator.address().url;

async function asked<T>(client: Client, use: (client: Client) => Promise<T>): Promise<T> {
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

const REVISIONS = ["legacy", { pin: "2026-07-28" }] as const;
type Revision = (typeof REVISIONS)[number];

const clientOf = (mode: Revision = "legacy"): Client =>
  new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });

async function byStdio<T>(
  server: string,
  use: (client: Client) => Promise<T>,
  revision: Revision = "legacy",
): Promise<T> {
  const client = clientOf(revision);
  const args = [...NODE, "mcp", "--server", server];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "inherit" }));
  return asked(client, use);
}

const textOf = (result: { readonly content: readonly unknown[] }): string =>
  result.content
    .map((block) => (typeof block === "object" && block !== null && "text" in block ? block.text : ""))
    .join("\n");

describe("by standard input", () => {
  beforeAll(async () => {
    running = await start(false);
    url = urlOf(running);
  });
  afterAll(() => running.stop());

  it("lists tools that only read, and answers with what the graph API says, cut where it is long", async () => {
    await byStdio(url, async (client) => {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name).sort()).toEqual(NAMES);
      expect(tools.map(({ annotations }) => annotations?.readOnlyHint)).toEqual(NAMES.map(() => true));

      const list = await client.callTool({ name: "workflow_graph", arguments: {} });
      const workflows = { answer: { workflows: [{ namespace: "shop", name: "flow" }] }, leftOut: [] };
      expect(list.structuredContent).toMatchObject(workflows);

      const whole = await client.callTool({
        name: "workflow_graph",
        arguments: { namespace: "shop", name: "flow" },
      });
      const cut = whole.structuredContent as {
        answer: { workloads: unknown[] };
        leftOut: { list: string; shown: number; of: number }[];
      };
      const shown = cut.answer.workloads.length;
      expect(cut.leftOut).toContainEqual({ list: "workloads", shown, of: WORKLOADS });
      expect(textOf(whole)).toContain(`workloads: ${shown} of ${WORKLOADS}`);
      expect(textOf(whole)).toContain("ask for one workflow at a time");
      expect(JSON.stringify(cut.answer).length).toBeLessThanOrEqual(50_000);

      const health = await client.callTool({ name: "health", arguments: {} });
      expect(health.structuredContent).toMatchObject({ answer: { health: { ready: true } } });
      expect(textOf(health)).toContain('"check":"graph API","looked":');
      const bill = await client.callTool({ name: "bill", arguments: { limit: 5 } });
      expect(bill.structuredContent).toMatchObject({ answer: { total: { channels: 0 } } });
    });
  });

  it("speaks the newest revision of the protocol", async () => {
    const use = (client: Client) => client.callTool({ name: "bill", arguments: { limit: 1 } });
    expect((await byStdio(url, use, REVISIONS[1])).structuredContent).toMatchObject({ leftOut: [] });
  });

  it("refuses hostile input by subject, rule and value, and goes on", async () => {
    await byStdio(url, async (client) => {
      const refused: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
        ["bill", { limit: 0 }, /limit must be >= 1, got 0/],
        ["bill", { limit: "1; DROP" }, /limit must be integer, got "1; DROP"/],
        ["bill", { luck: 1 }, /arguments must not have additional properties/],
        ["workflow_graph", { name: "flow" }, /namespace must be given with name, got none for "flow"/],
        ["workflow_graph", { namespace: "..", name: "../../v1/metrics" }, /404|400/],
        ["explain", { pod: "\u001b[31m" }, /\\u\{1b\}|503|404/],
        ["explain", { pod: "x".repeat(10_000) }, /pod must not have more than 253 characters/],
        ["plan", { kind: "wish" }, /kind must .*, got "wish"/],
        ["plan", {}, /api\/v1\/plans.* answered 503/],
        ["savings", { namespace: "shop" }, /api\/v1\/savings.* answered 503/],
        ["cluster_graph", { nodes: Array(200).fill("n") }, /nodes must not have more than 100 items/],
      ];
      for (const [name, input, said] of refused) {
        const result = await client.callTool({ name, arguments: input });
        expect([name, input, result.isError]).toEqual([name, input, true]);
        expect(textOf(result)).toMatch(said);
      }
      await expect(client.callTool({ name: "delete_pod", arguments: {} })).rejects.toThrow(/delete_pod/);
      expect((await client.callTool({ name: "health", arguments: {} })).isError).toBeUndefined();
    });
  });

  it("says that the graph API is gone, and ends with its client", async () => {
    const mortal = await start(false);
    const child = spawn(process.execPath, [...NODE, "mcp", "--server", urlOf(mortal)]);
    const ended = once(child, "exit");
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
    await byStdio(urlOf(mortal), async (client) => {
      await client.callTool({ name: "bill", arguments: {} });
      await mortal.stop();
      const result = await client.callTool({ name: "bill", arguments: {} });
      expect(result.isError).toBe(true);
      expect(textOf(result)).toMatch(/graph\/bill.*ECONNREFUSED/);
    });
  });
});

describe("by HTTP", () => {
  let child: ChildProcess;
  let endpoint: string;
  let closed: RunningAggregator;

  const serve = async (server: string): Promise<string> => {
    child = spawn(process.execPath, [...NODE, "mcp", "--server", server, "--http", "0"]);
    child.stderr!.pipe(process.stderr);
    const [first] = (await once(child.stdout!, "data", { signal: AbortSignal.timeout(60_000) })) as [Buffer];
    return /http:\S+\/mcp/.exec(first.toString())![0];
  };

  beforeAll(async () => {
    closed = await start(true);
    endpoint = await serve(urlOf(closed));
  });
  afterAll(async () => {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
    await closed.stop();
  });

  const byHttp = async <T>(
    token: string | null,
    use: (client: Client) => Promise<T>,
    revision: Revision = "legacy",
  ): Promise<T> => {
    const client = clientOf(revision);
    const headers = token === null ? {} : { authorization: `Bearer ${token}` };
    await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit: { headers } }));
    return asked(client, use);
  };

  const post = (headers: Record<string, string>, body: string): Promise<Response> =>
    fetch(endpoint, {
      method: "POST",
      body,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${TOKEN}`,
        ...headers,
      },
    });
  const LIST = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });

  it.each(REVISIONS)("answers a client of %j whose token the graph API knows", async (revision) => {
    const use = async (client: Client): Promise<void> => {
      expect((await client.listTools()).tools).toHaveLength(NAMES.length);
      const list = await client.callTool({ name: "workflow_graph", arguments: {} });
      expect(list.structuredContent).toMatchObject({ answer: { workflows: [{ name: "flow" }] } });
    };
    await byHttp(TOKEN, use, revision);
  });

  it.each([null, "another"])("refuses a client with the token %j", async (token) => {
    await expect(byHttp(token, (client) => client.listTools())).rejects.toThrow(/401|Unauthorized/i);
    const headers = token === null ? { authorization: "" } : { authorization: `Bearer ${token}` };
    const answer = await post(headers, LIST);
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toContain("Bearer");
    expect(await answer.text()).toContain("the bearer token must be one that the graph API accepts");
  });

  it("refuses foreign pages, what is no message, what is too long, and streams", async () => {
    expect((await post({}, LIST)).status).toBe(200);
    expect((await post({ origin: "https://evil.example" }, LIST)).status).toBe(403);
    expect((await post({ "sec-fetch-site": "cross-site" }, LIST)).status).toBe(403);
    expect(await statusByHost("evil.example")).toBe(403);
    for (const body of ["", "{", "[]", "null", '{"jsonrpc":"2.0"}', '{"__proto__":{"a":1}}'])
      expect([body, (await post({}, body)).status]).toEqual([body, 400]);
    expect((await post({}, `"${"x".repeat(300_000)}"`)).status).toBe(413);
    expect((await fetch(endpoint, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(405);
    expect((await post({}, LIST)).status).toBe(200);
  });

  /** Uses curl, since fetch cannot set the Host header. */
  async function statusByHost(host: string): Promise<number> {
    const args = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", `host: ${host}`, "-d", LIST, endpoint];
    return Number((await promisify(execFile)("curl", args)).stdout);
  }
});
