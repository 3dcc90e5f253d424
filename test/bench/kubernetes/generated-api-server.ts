// Serves generated objects, because a real API server takes a quarter of an hour for 100,000 pods. Sends its
// URL over IPC. With the argument `flood`, a watch gets changes as fast as it reads them; otherwise at the
// rate in the parent's messages.
import { createServer } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { CertificateAuthority } from "../../harness/common/x509.ts";
import { GeneratedCluster, type Form } from "./generated-cluster.ts";
import { WATCHED_CHANGES, type Pace, type Serving } from "./load.ts";

const TICK_MS = 100;
const COLLECTION = /^\/apis?\/.*?\/?([a-z]+)$/;
/** Below this path the server supports only JSON. */
const ONLY_JSON = /^\/json\//;
const POD_PATH = /^\/api\/v1\/pods$/;
/** Applies to whole objects. */
const BINARY = /application\/vnd\.kubernetes\.protobuf(,|$)/;
const NODE = /^\/api\/v1\/nodes\/([^/]+)$/;

const cluster = new GeneratedCluster();
/** Written objects of kinds that are not generated, mainly Leases, by path. */
const written = new Map<string, Record<string, unknown>>();
const isFlood = process.argv.includes("flood");
let changesPerSecond = 0;

const authority = new CertificateAuthority("bench");
const { certificate, key } = authority.issue({ commonName: "localhost", hosts: ["127.0.0.1"] });
const server = createServer({ cert: certificate, key }, (request, response) => {
  answer(request, response).catch((error: unknown) => response.destroy(error as Error));
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  const serving: Serving = { url: `https://127.0.0.1:${port}`, ca: authority.certificate };
  process.send!(serving);
});
process.on("message", (pace: Pace) => ({ changesPerSecond } = pace));
process.on("disconnect", () => process.exit());
setInterval(() => {
  for (let due = (changesPerSecond * TICK_MS) / 1_000; due > 0; due -= 1) cluster.changePod();
}, TICK_MS);

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname: asked, searchParams } = new URL(request.url ?? "/", "https://localhost");
  const pathname = asked.replace(ONLY_JSON, "/");
  const isBinary = POD_PATH.test(asked) && BINARY.test(request.headers.accept ?? "");
  response.setHeader("content-type", isBinary ? "application/vnd.kubernetes.protobuf" : "application/json");
  const form = isBinary ? "binary" : "json";
  if (request.method !== "GET") await write(request, response, pathname);
  else if (written.has(pathname)) response.end(JSON.stringify(written.get(pathname)));
  else if (/\/namespaces\/[^/]+\/[a-z]+\/[^/]+$/.test(pathname)) missing(response);
  else {
    const plural = COLLECTION.exec(pathname)?.[1] ?? "";
    if (searchParams.get("watch") === "1") watch(plural, form, response);
    else response.end(cluster.page(plural, searchParams, form));
  }
}

async function write(request: IncomingMessage, response: ServerResponse, pathname: string): Promise<void> {
  const object = JSON.parse(await text(request)) as { metadata: Record<string, unknown> };
  const [, node] = NODE.exec(pathname) ?? [];
  if (node !== undefined) {
    response.end(
      cluster.annotateNode(node, (object.metadata["annotations"] ?? {}) as Record<string, string>),
    );
    return;
  }
  const path = request.method === "POST" ? `${pathname}/${String(object.metadata["name"])}` : pathname;
  const { metadata: before = {} } = (written.get(path) ?? {}) as { metadata?: Record<string, unknown> };
  const resourceVersion = String(Number(before["resourceVersion"] ?? 0) + 1);
  const stored = {
    ...written.get(path),
    ...object,
    metadata: { uid: path, ...object.metadata, resourceVersion },
  };
  written.set(path, stored);
  response.statusCode = request.method === "POST" ? 201 : 200;
  response.end(JSON.stringify(stored));
}

function missing(response: ServerResponse): void {
  response.statusCode = 404;
  response.end(
    JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound", code: 404 }),
  );
}

function watch(plural: string, form: Form, response: ServerResponse): void {
  response.flushHeaders();
  if (isFlood) void flood(form, response);
  else
    response.on(
      "close",
      cluster.watch(plural, form, (event) => response.write(event)),
    );
}

async function flood(form: Form, response: ServerResponse): Promise<void> {
  for (let i = 0; i < WATCHED_CHANGES && !response.destroyed; i += 1) {
    if (response.write(cluster.podEvent(form, "MODIFIED", i))) continue;
    await new Promise((resolve) => response.once("drain", resolve));
  }
}
