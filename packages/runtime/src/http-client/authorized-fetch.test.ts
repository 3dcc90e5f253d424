import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { TestAuthority, type TestCertificate } from "../testing/certificates.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { authorizedFetch, type Fetch } from "./authorized-fetch.ts";

let folder: string;
let authority: TestAuthority;
let other: TestAuthority;
const servers: Server[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "isochrone-fetch-"));
  authority = await TestAuthority.create(folder);
  other = await TestAuthority.create(folder, "other");
});
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Seen {
  readonly url: string;
  readonly tokens: (string | undefined)[];
  readonly names: (string | undefined)[];
}

async function serve(
  certificate: TestCertificate | null = null,
  clients: TestAuthority | null = null,
): Promise<Seen> {
  const tokens: (string | undefined)[] = [];
  const names: (string | undefined)[] = [];
  const files = certificate && {
    cert: await readFile(certificate.certFile),
    key: await readFile(certificate.keyFile),
    ...(clients === null ? {} : { ca: await clients.ca(), requestCert: true, rejectUnauthorized: true }),
  };
  const server = (files === null ? createServer() : createTlsServer(files)) as Server;
  server.on("request", (request, response) => {
    tokens.push(request.headers.authorization);
    const socket = request.socket as Partial<TLSSocket>;
    names.push(socket.getPeerX509Certificate?.()?.subject);
    response.statusCode = request.headers.authorization === "Bearer old" ? 401 : 200;
    response.setHeader("x-method", request.method ?? "");
    request.pipe(response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `${files === null ? "http" : "https"}://127.0.0.1:${port}/`, tokens, names };
}

async function tokenFile(token: string): Promise<string> {
  const path = join(folder, `token-${token}`);
  await writeFile(path, `${token}\n`);
  return path;
}

const clock = new ManualClock();

test("believes the authorities that it is told of, as they are at each request, under the name that it is given", async () => {
  const seen = await serve(await authority.issue("told", ["graph.isochrone.svc"]));
  let trusted = await other.ca();
  const get = authorizedFetch({ ca: () => trusted, serverName: "graph.isochrone.svc", clock });
  await expect(get(seen.url)).rejects.toThrow("fetch failed");
  trusted += await authority.ca();
  expect((await get(seen.url)).status).toBe(200);
  const elsewhere = authorizedFetch({ ca: () => trusted, serverName: "other.isochrone.svc", clock });
  await expect(elsewhere(seen.url)).rejects.toThrow("fetch failed");
});

test("sends the token of its file, and the new one soon after the file is replaced", async () => {
  const seen = await serve();
  const path = await tokenFile("first");
  const get = authorizedFetch({ tokenFile: path, clock });
  await get(seen.url);
  await writeFile(path, "second");
  await get(seen.url);
  await clock.advance(5_000);
  await get(seen.url);
  expect(seen.tokens).toEqual(["Bearer first", "Bearer first", "Bearer second"]);
});

test("a token that is refused is read again for the next request", async () => {
  const seen = await serve();
  const path = await tokenFile("old");
  const get = authorizedFetch({ tokenFile: path, clock });
  expect((await get(seen.url)).status).toBe(401);
  await writeFile(path, "new");
  expect((await get(seen.url)).status).toBe(200);
});

test("a token that the caller passes on takes the place of its own", async () => {
  const seen = await serve();
  const get = authorizedFetch({ tokenFile: await tokenFile("own"), clock });
  await get(seen.url, { headers: { authorization: "Bearer passed-on" } });
  expect(seen.tokens).toEqual(["Bearer passed-on"]);
});

test("a file without a token is an error that names it and not what stands there; it works once there is one", async () => {
  const seen = await serve();
  const path = join(folder, "late");
  const get = authorizedFetch({ tokenFile: path, clock });
  await expect(get(seen.url)).rejects.toThrow(`${path} must be a readable file (ENOENT)`);
  await writeFile(path, "two words");
  await clock.advance(5_000);
  const mistake = await get(seen.url).catch((error: unknown) => String(error));
  expect(mistake).toContain("must hold one bearer token");
  expect(mistake).not.toContain("two words");
  await writeFile(path, "token");
  await clock.advance(5_000);
  expect((await get(seen.url)).status).toBe(200);
  expect(seen.tokens).toEqual(["Bearer token"]);
});

const bodies: readonly [string, (get: Fetch, url: string) => ReturnType<Fetch>][] = [
  ["a text", (get, url) => get(url, { method: "POST", body: "sent" })],
  ["bytes", (get, url) => get(url, { method: "POST", body: Buffer.from("sent") })],
];

test.each(bodies)("speaks TLS with a server of its authorities, and sends %s", async (_, post) => {
  const seen = await serve(await authority.issue("server", ["127.0.0.1"]));
  const get = authorizedFetch({ caFile: authority.caFile, tokenFile: await tokenFile("tls"), clock });
  const response = await post(get, seen.url);
  expect([response.status, response.headers.get("x-method"), await response.text()]).toEqual([
    200,
    "POST",
    "sent",
  ]);
  expect(seen.tokens).toEqual(["Bearer tls"]);
});

test("gives a server of another authority nothing, until the file names that one", async () => {
  const seen = await serve(await other.issue("stranger", ["127.0.0.1"]));
  const caFile = join(folder, "authorities.pem");
  await writeFile(caFile, await authority.ca());
  const get = authorizedFetch({ caFile, tokenFile: await tokenFile("kept"), clock });
  await expect(get(seen.url)).rejects.toMatchObject({ message: "fetch failed" });
  expect(seen.tokens).toEqual([]);
  await writeFile(caFile, await other.ca());
  await clock.advance(5_000);
  expect((await get(seen.url)).status).toBe(200);
});

test("a file of authorities that was read half written is read again by the next request", async () => {
  const { url } = await serve(await authority.issue("torn", ["127.0.0.1"]));
  const caFile = join(folder, "torn.pem");
  const whole = await authority.ca();
  await writeFile(caFile, whole.slice(0, whole.length / 2));
  const get = authorizedFetch({ caFile, clock });
  await expect(get(url)).rejects.toMatchObject({ message: expect.stringContaining("(PEM)") });
  await writeFile(caFile, whole);
  expect((await get(url)).status).toBe(200);
});

test("believes a certificate for the name that was configured, not for another", async () => {
  const seen = await serve(await authority.issue("named", ["graph.isochrone.svc"]));
  const caFile = authority.caFile;
  const named = authorizedFetch({ caFile, serverName: "graph.isochrone.svc", clock });
  expect((await named(seen.url)).status).toBe(200);
  await expect(authorizedFetch({ caFile, clock })(seen.url)).rejects.toMatchObject({
    cause: { code: "ERR_TLS_CERT_ALTNAME_INVALID" },
  });
});

test("a request that is given up ends at once", async () => {
  const seen = await serve(await authority.issue("aborted", ["127.0.0.1"]));
  const get = authorizedFetch({ caFile: authority.caFile, clock });
  await expect(get(seen.url, { signal: AbortSignal.abort() })).rejects.toThrow("fetch failed");
  expect(seen.tokens).toEqual([]);
});

async function mounted(name: string) {
  const files = { certFile: join(folder, `${name}-tls.crt`), keyFile: join(folder, `${name}-tls.key`) };
  const replace = async ({ certFile, keyFile }: Partial<TestCertificate>): Promise<void> => {
    if (certFile !== undefined) await copyFile(certFile, files.certFile);
    if (keyFile !== undefined) await copyFile(keyFile, files.keyFile);
  };
  return { files, replace };
}

test("shows its certificate to a server that wants one, and the new one soon after the files are replaced", async () => {
  const seen = await serve(await authority.issue("wants", ["127.0.0.1"]), authority);
  const { files, replace } = await mounted("rotated");
  await replace(await authority.issue("first-client"));
  const ends: number[] = [];
  const onCertificate = (notAfterSeconds: number): unknown => ends.push(notAfterSeconds);
  const get = authorizedFetch({ caFile: authority.caFile, ...files, onCertificate, clock });
  expect((await get(seen.url)).status).toBe(200);
  await replace(await authority.issue("second-client", [], 9));
  expect((await get(seen.url)).status).toBe(200);
  await clock.advance(5_000);
  expect((await get(seen.url)).status).toBe(200);
  expect(seen.names).toEqual(["CN=first-client", "CN=first-client", "CN=second-client"]);
  expect(ends).toHaveLength(2);
  expect((ends[1]! - ends[0]!) / 86_400).toBeCloseTo(7, 2);
});

test("without a certificate, or with one of another authority, such a server takes nothing", async () => {
  const seen = await serve(await authority.issue("strict", ["127.0.0.1"]), authority);
  const stranger = await other.issue("stranger-client");
  for (const client of [{}, stranger]) {
    const get = authorizedFetch({ caFile: authority.caFile, ...client, clock });
    await expect(get(seen.url)).rejects.toMatchObject({ message: "fetch failed" });
  }
  expect(seen.tokens).toEqual([]);
});

test("a key that isn't the certificate's is an error that names both files; the pair is used as soon as it fits", async () => {
  const seen = await serve(await authority.issue("paired", ["127.0.0.1"]), authority);
  const { files, replace } = await mounted("half");
  const [previous, later] = [await authority.issue("former"), await authority.issue("later")];
  await replace(previous);
  const get = authorizedFetch({ caFile: authority.caFile, ...files, clock });
  await get(seen.url);
  await replace({ certFile: later.certFile });
  await clock.advance(5_000);
  await expect(get(seen.url)).rejects.toThrow(
    `${files.keyFile} must hold the key (PEM) of the certificate ${files.certFile}`,
  );
  await replace({ keyFile: later.keyFile });
  expect((await get(seen.url)).status).toBe(200);
  expect(seen.names).toEqual(["CN=former", "CN=later"]);
});
