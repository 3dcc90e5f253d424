import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer } from "node:tls";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { issueCertificate, issueClientCertificate, makeAuthority } from "./x509.ts";

const run = promisify(execFile);
const HOUR_MS = 3_600_000;
const nowMs = Math.floor(Date.now() / 1000) * 1000;
const VALIDITY = { notBeforeMs: nowMs - HOUR_MS, notAfterMs: nowMs + HOUR_MS };
const HOSTS = ["isochrone-aggregator.isochrone.svc", "10.1.2.3", "fd00::1:2", "::1", "localhost"];

/**
 * Made by OpenSSL with `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256`: a PrintableString name of two
 * parts and a foreign key format, unlike ours.
 */
async function foreignAuthority(): Promise<{ certificate: string; key: string }> {
  const folder = await mkdtemp(join(tmpdir(), "isochrone-authority-"));
  const [key, cert] = ["ca.key", "ca.crt"].map((name) => join(folder, name)) as [string, string];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const more = [
    "-days",
    "2",
    "-subj",
    "/O=Other/CN=Authority",
    "-addext",
    "keyUsage=critical,keyCertSign",
    "-keyout",
    key,
    "-out",
    cert,
  ];
  await run("openssl", ["req", "-x509", ...curve, ...more]);
  const [keyText, certificate] = await Promise.all([run("cat", [key]), run("cat", [cert])]);
  await rm(folder, { recursive: true });
  return { key: keyText.stdout, certificate: certificate.stdout };
}

/** OpenSSL's verdict on a server certificate, strictly by RFC 5280. */
async function judged(authority: string, certificate: string, purpose = "sslserver"): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "isochrone-judged-"));
  const [ca, one] = [join(folder, "ca.crt"), join(folder, "tls.crt")];
  await Promise.all([writeFile(ca, authority), writeFile(one, certificate)]);
  const args = ["verify", "-x509_strict", "-purpose", purpose, "-CAfile", ca, one];
  const { stdout } = await run("openssl", args);
  await rm(folder, { recursive: true });
  return stdout.trim().replace(/^.*: /, "");
}

describe("a made certificate", () => {
  test("is one of version 3 for its hosts and times, and for servers alone", async () => {
    const authority = await makeAuthority("isochrone test authority", VALIDITY);
    const { certificate } = await issueCertificate(authority, HOSTS, VALIDITY);
    const read = new X509Certificate(certificate);
    expect(HOSTS.slice(1, 4).map((host) => read.checkIP(host))).toEqual(HOSTS.slice(1, 4));
    expect(read.checkHost(HOSTS[0]!)).toBe(HOSTS[0]);
    expect(read.checkHost("other")).toBeUndefined();
    expect([Date.parse(read.validFrom), Date.parse(read.validTo)]).toEqual([
      VALIDITY.notBeforeMs,
      VALIDITY.notAfterMs,
    ]);
    expect([read.ca, read.keyUsage]).toEqual([false, ["1.3.6.1.5.5.7.3.1"]]);
    expect(new X509Certificate(authority.certificate)).toMatchObject({
      ca: true,
      subject: "CN=isochrone test authority",
      issuer: "CN=isochrone test authority",
    });
    expect(await judged(authority.certificate, certificate)).toBe("OK");
  });

  test("of a client is for clients alone", async () => {
    const authority = await makeAuthority("isochrone test authority", VALIDITY);
    const { certificate } = await issueClientCertificate(authority, "isochrone-client", VALIDITY);
    expect(new X509Certificate(certificate).keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(await judged(authority.certificate, certificate, "sslclient")).toBe("OK");
    await expect(judged(authority.certificate, certificate)).rejects.toThrow("Command failed");
  });

  test("comes from an authority that another program made", async () => {
    const authority = await foreignAuthority();
    const { certificate } = await issueCertificate(authority, HOSTS, VALIDITY);
    expect(await judged(authority.certificate, certificate)).toBe("OK");
  });

  test("reaches beyond the year 2049, from where on times are written otherwise", async () => {
    const far = {
      notBeforeMs: Date.parse("2049-12-31T23:59:59Z"),
      notAfterMs: Date.parse("2050-01-01T00:00:00Z"),
    };
    const read = new X509Certificate((await makeAuthority("far", far)).certificate);
    expect([Date.parse(read.validFrom), Date.parse(read.validTo)]).toEqual([far.notBeforeMs, far.notAfterMs]);
  });

  test("has its long first name cut off in the common name alone", async () => {
    const long = `${"a".repeat(60)}.${"b".repeat(60)}.isochrone.svc`;
    const authority = await makeAuthority("isochrone test authority", VALIDITY);
    const { certificate } = await issueCertificate(authority, [long], VALIDITY);
    expect(new X509Certificate(certificate).checkHost(long)).toBe(long);
    expect(await judged(authority.certificate, certificate)).toBe("OK");
  });

  test("is never like another one", async () => {
    const made = await Promise.all([1, 2].map(() => makeAuthority("same", VALIDITY)));
    const serials = made.map(({ certificate }) => new X509Certificate(certificate).serialNumber);
    expect(new Set(serials).size).toBe(2);
    expect(serials.join("")).toMatch(/^([4-7][0-9A-F]{31}){2}$/);
  });

  test("serves a client that believes the authority, and no other", async () => {
    const [authority, other] = [await makeAuthority("one", VALIDITY), await makeAuthority("one", VALIDITY)];
    const { certificate: cert, key } = await issueCertificate(authority, ["server.test"], VALIDITY);
    const server = createServer({ cert, key }, (socket) => socket.end());
    server.on("tlsClientError", () => undefined).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const greet = async (ca: string): Promise<string> => {
      const socket = connect({ port, host: "127.0.0.1", ca, servername: "server.test" });
      try {
        await once(socket, "secureConnect");
        return "believed";
      } catch {
        return "refused";
      } finally {
        socket.destroy();
      }
    };
    expect([await greet(authority.certificate), await greet(other.certificate)]).toEqual([
      "believed",
      "refused",
    ]);
    server.close();
  });
});
