import { copyFile, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Clock } from "../clock.ts";
import { createRegistry } from "../metrics.ts";
import { systemClock } from "../system.ts";
import { TestAuthority, type TestCertificate } from "../testing/certificates.ts";
import { MemoryLogger } from "../testing/memory-logger.ts";
import {
  createHttpApp,
  listen,
  type HttpApp,
  type HttpAppOptions,
  type ListenAddress,
  type TlsMaterial,
} from "./index.ts";
import type { ServerTlsFiles } from "./server-tls.ts";

const CHECK_MS = 25;
let folder: string;
let authority: TestAuthority;
let stranger: TestAuthority;
let first: TestCertificate;
let second: TestCertificate;
let client: TestCertificate;
let strangeClient: TestCertificate;
let ca: string;
const open: HttpApp[] = [];
const gated: (() => void)[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "isochrone-tls-"));
  authority = await TestAuthority.create(folder);
  stranger = await TestAuthority.create(folder, "stranger");
  first = await authority.issue("first", ["127.0.0.1"]);
  second = await authority.issue("second", ["127.0.0.1"]);
  client = await authority.issue("kube-scheduler");
  strangeClient = await stranger.issue("strange-client");
  ca = await authority.ca();
});

afterEach(async () => {
  for (const app of open.splice(0)) await app.close();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

interface Served {
  readonly address: ListenAddress;
  readonly logger: MemoryLogger;
  readonly app: HttpApp;
}

async function serve(
  tls: (Omit<ServerTlsFiles, "clock"> & { readonly clock?: Clock }) | { readonly current: () => TlsMaterial },
  options: Partial<HttpAppOptions> = {},
): Promise<Served> {
  const logger = new MemoryLogger();
  const app = await createHttpApp({
    name: "test",
    logger,
    registry: createRegistry(),
    bodyLimitBytes: 1024,
    ready: () => ({ ready: true, reasons: [] }),
    tls: { clock: systemClock, checkMs: CHECK_MS, ...tls },
    ...options,
  });
  app.get("/hello", () => ({ hello: "world" }));
  app.get("/gated", () => new Promise((resolve) => gated.push(() => resolve({ done: true }))));
  open.push(app);
  return { app, logger, address: await listen(app, { host: "127.0.0.1", port: 0 }) };
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly server: string;
}

function get({ address }: Served, path: string, options: RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(address.url + path, { ca, agent: false, ...options }, (response) => {
      const server = (response.socket as TLSSocket).getPeerCertificate().subject.CN as string;
      const answered = async (): Promise<Answer> => {
        const chunks = (await response.toArray()) as Buffer[];
        return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString(), server };
      };
      answered().then(resolve, reject);
    });
    request.on("error", reject).end();
  });
}

async function credentials(of: TestCertificate): Promise<RequestOptions> {
  return { cert: await readFile(of.certFile), key: await readFile(of.keyFile) };
}

async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = systemClock.monotonic() + 5000;
  while (!(await holds())) {
    if (systemClock.monotonic() > endMs) throw new Error("not within 5 s");
    await systemClock.sleep(10);
  }
}

/** Like the kubelet's Secret: files are links through a directory link that is swapped. */
async function mountedSecret(name: string): Promise<{
  readonly files: TestCertificate;
  readonly swap: (pair: TestCertificate) => Promise<void>;
}> {
  const mount = join(folder, name);
  await mkdir(mount);
  let count = 0;
  const swap = async ({ certFile, keyFile }: TestCertificate): Promise<void> => {
    const version = `..version-${(count += 1)}`;
    await mkdir(join(mount, version));
    await copyFile(certFile, join(mount, version, "tls.crt"));
    await copyFile(keyFile, join(mount, version, "tls.key"));
    await symlink(version, join(mount, "..data_tmp"));
    await rename(join(mount, "..data_tmp"), join(mount, "..data"));
  };
  await symlink("..data/tls.crt", join(mount, "tls.crt"));
  await symlink("..data/tls.key", join(mount, "tls.key"));
  return { files: { certFile: join(mount, "tls.crt"), keyFile: join(mount, "tls.key") }, swap };
}

test("serves by the certificate of the files, at an https address", async () => {
  const served = await serve(first);
  expect(served.address.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(await get(served, "/hello")).toEqual({ status: 200, body: '{"hello":"world"}', server: "first" });
});

test("speaks no TLS below 1.2 and no plain HTTP", async () => {
  const served = await serve(first);
  await expect(get(served, "/hello", { maxVersion: "TLSv1.1", minVersion: "TLSv1" })).rejects.toThrow(
    /protocol version|unsupported protocol|no protocols/i,
  );
  await expect(fetch(`http://127.0.0.1:${served.address.port}/hello`)).rejects.toThrow("fetch failed");
});

test("a certificate that is swapped like a mounted Secret's is taken, and no request fails meanwhile", async () => {
  const { files, swap } = await mountedSecret("swapped");
  await swap(first);
  const served = await serve(files);
  const seen = new Set<string>();
  const ask = async (): Promise<void> => {
    const { status, server } = await get(served, "/hello");
    expect(status).toBe(200);
    seen.add(server);
  };
  await ask();
  await swap(second);
  await eventually(async () => {
    await Promise.all([ask(), ask(), ask()]);
    return seen.has("second");
  });
  expect([...seen]).toEqual(["first", "second"]);
  expect(await served.app.inject("/metrics").then(({ body }) => body)).toContain(
    'isochrone_tls_reloads_total{server="test",result="taken"} 1',
  );
});

test("a new certificate with another one's key leaves the old pair in place, and says so", async () => {
  const { files, swap } = await mountedSecret("mismatched");
  await swap(first);
  const served = await serve(files);
  await swap({ certFile: second.certFile, keyFile: first.keyFile });
  await eventually(() => served.logger.lines.some(({ level }) => level === "warn"));
  expect((await get(served, "/hello")).server).toBe("first");
  const [warning] = served.logger.lines.filter(({ level }) => level === "warn");
  expect(String(warning?.fields?.["error"])).toContain(`the pair ${files.certFile} and ${files.keyFile}`);
  await swap(second);
  await eventually(async () => (await get(served, "/hello")).server === "second");
});

test("files that are gone leave the old pair in place", async () => {
  const copy = { certFile: join(folder, "gone.pem"), keyFile: join(folder, "gone.key") };
  await copyFile(first.certFile, copy.certFile);
  await copyFile(first.keyFile, copy.keyFile);
  const served = await serve(copy);
  await rm(copy.certFile);
  await eventually(() => served.logger.lines.some(({ level }) => level === "warn"));
  expect((await get(served, "/hello")).status).toBe(200);
});

test.each([
  ["cert", "not a certificate", "the certificate"],
  ["key", "not a key", "the pair"],
])("a server whose %s file is unusable does not start, and says which it is", async (kind, text, subject) => {
  const broken = join(folder, `broken-${kind}`);
  await writeFile(broken, text);
  const files = kind === "cert" ? { ...first, certFile: broken } : { ...first, keyFile: broken };
  await expect(serve(files)).rejects.toThrow(`cannot serve TLS: ${subject}`);
  await expect(serve(files)).rejects.toThrow(broken);
});

test("with client authorities a request needs a certificate of theirs, and health needs none", async () => {
  const served = await serve({ ...first, clientCaFile: authority.caFile });
  expect((await get(served, "/hello", await credentials(client))).status).toBe(200);
  const without = await get(served, "/hello");
  expect(without.status).toBe(401);
  expect(JSON.parse(without.body)).toMatchObject({ code: "client_certificate" });
  expect((await get(served, "/hello", await credentials(strangeClient))).status).toBe(401);
  expect((await get(served, "/healthz")).status).toBe(200);
  expect((await get(served, "/readyz", await credentials(strangeClient))).status).toBe(200);
});

test.each([
  ["TLSv1.2", "without a certificate"],
  ["TLSv1.3", "without a certificate"],
  ["TLSv1.2", "with a stranger's"],
  ["TLSv1.3", "with a stranger's"],
] as const)("a session of %s that was begun %s is not let in when it is resumed", async (version, began) => {
  const served = await serve({ ...first, clientCaFile: authority.caFile });
  const { port } = served.address;
  const carried = began === "without a certificate" ? {} : await credentials(strangeClient);
  const options: ConnectionOptions = {
    host: "127.0.0.1",
    port,
    ca,
    ...(carried as ConnectionOptions),
    minVersion: version,
    maxVersion: version,
  };
  const statusOf = (session?: Buffer): Promise<{ status: string; session: Buffer; isReused: boolean }> =>
    new Promise((resolve, reject) => {
      const socket = connect({ ...options, ...(session === undefined ? {} : { session }) });
      let ticket: Buffer | undefined;
      let answer = "";
      let isReused = false;
      socket.on("secureConnect", () => (isReused = socket.isSessionReused()));
      socket.on("session", (given: Buffer) => (ticket = given));
      socket.on("error", reject);
      socket.on("data", (chunk: Buffer) => (answer += chunk.toString()));
      socket.on("close", () => {
        const status = answer.split(" ")[1] ?? "";
        resolve({ status, session: ticket ?? Buffer.alloc(0), isReused });
      });
      socket.write(`GET /hello HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: close\r\n\r\n`);
    });
  const begun = await statusOf();
  expect(begun.status).toBe("401");
  const resumed = await statusOf(begun.session);
  expect([resumed.isReused, resumed.status]).toEqual([true, "401"]);
});

test("with client names a certificate of the authority needs one of them", async () => {
  const served = await serve({ ...first, clientCaFile: authority.caFile, clientNames: ["kube-scheduler"] });
  expect((await get(served, "/hello", await credentials(client))).status).toBe(200);
  const refused = await get(served, "/hello", await credentials(second));
  expect(refused.status).toBe(401);
  expect(refused.body).toContain("must carry one of the names kube-scheduler");
});

test("an expired client certificate is refused by that name, logged once and counted; health and the next one get through", async () => {
  const ended = await authority.issue("ended-client", [], 0);
  await systemClock.sleep(1_100);
  const served = await serve({ ...first, clientCaFile: authority.caFile });
  for (let round = 0; round < 3; round++) {
    const refused = await get(served, "/hello", await credentials(ended));
    expect(refused.status).toBe(401);
    expect(JSON.parse(refused.body)).toMatchObject({
      code: "client_certificate",
      detail: expect.stringMatching(/has expired, it ended .* GMT: CERT_HAS_EXPIRED/),
    });
  }
  expect((await get(served, "/hello", await credentials(strangeClient))).status).toBe(401);
  expect((await get(served, "/hello")).status).toBe(401);
  expect((await get(served, "/healthz", await credentials(ended))).status).toBe(200);
  const { body } = await served.app.inject("/metrics");
  const count = (reason: string): string =>
    new RegExp(`isochrone_tls_clients_refused_total\\{server="test",reason="${reason}"\\} (\\d+)`).exec(
      body,
    )?.[1] ?? "";
  expect([count("expired"), count("untrusted"), count("none")]).toEqual(["3", "1", "1"]);
  const warnings = served.logger.lines.filter(({ fields }) => fields?.["reason"] === "expired");
  expect(warnings).toHaveLength(1);
  expect(warnings[0]!.fields).toMatchObject({ subject: "CN=ended-client", server: "test" });
  expect((await get(served, "/hello", await credentials(client))).status).toBe(200);
});

test("a certificate that ends while its connection is open ends the connection", async () => {
  let laterMs = 0;
  const clock: Clock = {
    now: () => systemClock.now() + laterMs,
    monotonic: () => systemClock.monotonic(),
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
  };
  const served = await serve({ ...first, clientCaFile: authority.caFile, clock });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const options = { ...(await credentials(client)), agent };
  expect((await get(served, "/hello", options)).status).toBe(200);
  laterMs = 3 * 86_400_000;
  const refused = await get(served, "/hello", options);
  expect([refused.status, refused.body.includes("CERT_HAS_EXPIRED")]).toEqual([401, true]);
  expect(Object.keys(agent.freeSockets)).toEqual([]);
  agent.destroy();
});

test("serves by what the process itself keeps, and by what takes its place", async () => {
  const materialOf = async ({ certFile, keyFile }: TestCertificate): Promise<TlsMaterial> => ({
    cert: await readFile(certFile, "utf8"),
    key: await readFile(keyFile, "utf8"),
  });
  let current = await materialOf(first);
  const served = await serve({ current: () => current });
  expect((await get(served, "/hello")).server).toBe("first");
  current = await materialOf(second);
  await expect.poll(async () => (await get(served, "/hello")).server).toBe("second");
});

test("a flood of TLS connections closes its own idle ones, never one whose request is under way", async () => {
  const served = await serve(first, { maxConnections: 3 });
  const { port } = served.address;
  const waiting = get(served, "/gated");
  await eventually(() => gated.length === 1);
  const idle = Array.from({ length: 6 }, () => connect({ host: "127.0.0.1", port, ca }));
  for (const socket of idle) socket.on("error", () => undefined).resume();
  await eventually(() => idle.filter(({ destroyed }) => destroyed).length === 4);
  expect((await get(served, "/hello")).status).toBe(200);
  for (const answer of gated.splice(0)) answer();
  expect((await waiting).status).toBe(200);
  for (const socket of idle) socket.destroy();
});
