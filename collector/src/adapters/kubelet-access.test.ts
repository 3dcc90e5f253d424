import type { RequestListener } from "node:http";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ScrapeError } from "../ports/errors.ts";
import type { Target } from "../ports/ports.ts";
import { TestAuthority, type Certificate } from "../testing/certificates.ts";
import { kubelet, page, serve, type TestServer } from "../testing/servers.ts";
import { HttpReader } from "./http-reader.ts";
import { KubeletAccess, type KubeletAccessOptions } from "./kubelet-access.ts";

const TEXT = "machine_cpu_cores 4\n";
const ADDRESS = "IP:127.0.0.1,DNS:n1";

let ours: TestAuthority;
let theirs: TestAuthority;
let valid: Certificate;
let folder: string;
let caFile: string;
let tokenFile: string;

beforeAll(() => {
  ours = new TestAuthority("kubelets' authority");
  theirs = new TestAuthority("somebody else's authority");
  valid = ours.issue(ADDRESS);
});
afterAll(() => {
  ours.remove();
  theirs.remove();
});

const closers: (() => Promise<unknown> | void)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "isochrone-service-account-"));
  closers.push(() => rmSync(folder, { recursive: true }));
  caFile = join(folder, "ca.crt");
  tokenFile = join(folder, "token");
  writeFileSync(caFile, ours.pem);
  writeFileSync(tokenFile, "first\n");
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function kubeletWith(
  certificate: Certificate | undefined,
  listener: RequestListener,
): Promise<TestServer> {
  const server = await serve(listener, certificate);
  closers.push(() => server.close());
  return server;
}

function reader(options: Partial<KubeletAccessOptions> = {}): HttpReader {
  const kubelet = new KubeletAccess({
    caFile,
    tokenFile,
    serverName: null,
    insecureSkipVerify: false,
    ...options,
  });
  const made = new HttpReader({ kubelet });
  closers.push(() => made.close());
  return made;
}

const targetOf = (url: string): Target => ({
  kind: "cadvisor",
  url: `${url}/metrics/cadvisor`,
  instance: "kubelet/n1",
  access: "kubelet",
});

async function read(from: HttpReader, target: Target): Promise<string> {
  const chunks: Uint8Array[] = [];
  const { signal } = new AbortController();
  await from.read(target, {
    timeoutMs: 2_000,
    maxBytes: 1_000_000,
    signal,
    onBytes: (chunk) => chunks.push(chunk) > 0,
  });
  return Buffer.concat(chunks).toString();
}

const failing = (reading: Promise<unknown>): Promise<ScrapeError> =>
  reading.then(
    () => {
      throw new Error("was read");
    },
    (error: unknown) => error as ScrapeError,
  );

describe("reading a kubelet", () => {
  it("verifies its certificate, and shows the token", async () => {
    const { url } = await kubeletWith(
      valid,
      kubelet(() => "first", TEXT),
    );
    expect(await read(reader(), targetOf(url))).toBe(TEXT);
  });

  it("takes a new token as soon as it is there, over the same connection", async () => {
    let accepted = "first";
    const server = await kubeletWith(
      valid,
      kubelet(() => accepted, TEXT),
    );
    const used = reader();
    await read(used, targetOf(server.url));
    accepted = "second";
    expect((await failing(read(used, targetOf(server.url)))).code).toBe("unauthorized");
    writeFileSync(`${tokenFile}.new`, "second\n");
    renameSync(`${tokenFile}.new`, tokenFile);
    expect(await read(used, targetOf(server.url))).toBe(TEXT);
  });

  it("believes new authorities, and no longer the old ones, as soon as the file changes", async () => {
    const before = await kubeletWith(
      valid,
      kubelet(() => "first", TEXT),
    );
    const after = await kubeletWith(
      theirs.issue(ADDRESS),
      kubelet(() => "first", TEXT),
    );
    const used = reader();
    expect(await read(used, targetOf(before.url))).toBe(TEXT);
    expect((await failing(read(used, targetOf(after.url)))).code).toBe("tls_unknown_ca");
    writeFileSync(caFile, theirs.pem);
    expect(await read(used, targetOf(after.url))).toBe(TEXT);
    expect((await failing(read(used, targetOf(before.url)))).code).toBe("tls_unknown_ca");
    writeFileSync(caFile, theirs.pem + ours.pem);
    expect(await read(used, targetOf(before.url))).toBe(TEXT);
  });

  it.each<[string, string, string, () => Certificate]>([
    ["signed by another authority", "tls_unknown_ca", "collector.kubeletCaFile", () => theirs.issue(ADDRESS)],
    ["that has expired", "tls_expired", "CERT_HAS_EXPIRED", () => ours.issue(ADDRESS, -1)],
    [
      "of another address",
      "tls_name",
      "collector.kubeletServerName",
      () => ours.issue("IP:127.0.0.2,DNS:n2"),
    ],
  ])("refuses a certificate %s (%s) before it shows the token", async (_, code, remedy, certificate) => {
    const tokens: unknown[] = [];
    const { url } = await kubeletWith(certificate(), ({ headers }, response) => {
      tokens.push(headers.authorization);
      response.end();
    });
    const error = await failing(read(reader(), targetOf(url)));
    expect(error).toMatchObject({ code, message: expect.stringContaining(remedy) });
    expect(error.message).toContain(`${url}/metrics/cadvisor`);
    expect(tokens).toEqual([]);
  });

  it("asks for another name than the address when told to", async () => {
    const { url } = await kubeletWith(
      ours.issue("DNS:n1"),
      kubelet(() => "first", TEXT),
    );
    expect((await failing(read(reader(), targetOf(url)))).code).toBe("tls_name");
    expect(await read(reader({ serverName: "n1" }), targetOf(url))).toBe(TEXT);
    expect((await failing(read(reader({ serverName: "n2" }), targetOf(url)))).code).toBe("tls_name");
  });

  it("believes anything only if told to", async () => {
    const { url } = await kubeletWith(
      theirs.issue("DNS:nobody", -1),
      kubelet(() => "first", TEXT),
    );
    expect(await read(reader({ insecureSkipVerify: true, caFile: "/nowhere" }), targetOf(url))).toBe(TEXT);
  });

  it("uses the system's authorities without a file of its own", async () => {
    const { url } = await kubeletWith(
      valid,
      kubelet(() => "first", TEXT),
    );
    expect((await failing(read(reader({ caFile: null }), targetOf(url)))).code).toBe("tls_unknown_ca");
  });

  it("names the right that is missing", async () => {
    const { url } = await kubeletWith(
      valid,
      kubelet(
        () => "first",
        TEXT,
        () => false,
      ),
    );
    const error = await failing(read(reader(), targetOf(url)));
    expect(error.code).toBe("forbidden");
    expect(error.message).toContain('lacks the verb "get" on the resource "nodes/metrics"');
    expect(error.message).toContain("user=system:serviceaccount:isochrone:collector");
  });

  it("names a token that is not accepted without showing it", async () => {
    writeFileSync(tokenFile, "s3cret-t0ken");
    const { url } = await kubeletWith(
      valid,
      kubelet(() => "first", TEXT),
    );
    const error = await failing(read(reader(), targetOf(url)));
    expect(error).toMatchObject({
      code: "unauthorized",
      message: expect.stringContaining("kubeletTokenFile"),
    });
    expect(error.message).not.toContain("s3cret");
  });

  it("says that it doesn't speak TLS", async () => {
    const { port } = await kubeletWith(undefined, page(TEXT));
    expect((await failing(read(reader(), targetOf(`https://127.0.0.1:${port}`)))).code).toBe("tls");
  });

  it.each([
    ["no token file", () => rmSync(tokenFile), "kubeletTokenFile must be a readable file"],
    ["an empty token", () => writeFileSync(tokenFile, ""), "kubeletTokenFile must hold one token"],
    [
      "a token of two lines",
      () => writeFileSync(tokenFile, "a\r\nx: y"),
      "kubeletTokenFile must hold one token",
    ],
    ["no authorities", () => rmSync(caFile), "kubeletCaFile must be a readable file"],
    ["authorities that are none", () => writeFileSync(caFile, "-"), "kubeletCaFile must hold certificates"],
  ])("does not ask with %s", async (_, spoil, rule) => {
    let asked = 0;
    const { url } = await kubeletWith(valid, (_, response) => void (asked++, response.end()));
    spoil();
    const error = await failing(read(reader(), targetOf(url)));
    expect(error).toMatchObject({ code: "credentials", message: expect.stringContaining(rule) });
    expect(asked).toBe(0);
  });

  it("never shows the token to anything but a kubelet, nor without TLS", async () => {
    const tokens: unknown[] = [];
    const listener: RequestListener = (request, response) => {
      tokens.push(request.headers.authorization);
      page(TEXT)(request, response);
    };
    const plain = await kubeletWith(undefined, listener);
    const secure = await kubeletWith(valid, listener);
    const used = reader();
    await read(used, targetOf(plain.url));
    const { access: _, ...pod } = targetOf(secure.url);
    expect((await failing(read(used, pod))).code).toBe("tls_unknown_ca");
    expect(tokens).toEqual([undefined]);
  });
});
