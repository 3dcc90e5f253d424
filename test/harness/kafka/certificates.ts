// Creates a CA and a server certificate with openssl.
import { readFile, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { run } from "../common/commands.ts";

interface Certificates {
  /** PEM for clients. */
  readonly ca: string;
  readonly keystorePath: string;
}

const CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/** @param validDays negative: the server's certificate expired that many days ago */
export async function makeCertificates(
  folder: string,
  hosts: readonly string[],
  validDays: number,
): Promise<Certificates> {
  const openssl = (...args: readonly string[]): Promise<string> =>
    run("openssl", args, { cwd: folder, timeoutMs: 30_000 });
  const ca = ["-subj", "/CN=Isochrone test authority", "-days", "2", "-keyout", "ca.key", "-out", "ca.pem"];
  await openssl("req", "-x509", "-new", ...CURVE, ...ca);
  await openssl(
    "req",
    "-new",
    ...CURVE,
    "-subj",
    "/CN=broker",
    "-keyout",
    "server.key",
    "-out",
    "server.csr",
  );
  const names = hosts.map((host) => `${isIP(host) === 0 ? "DNS" : "IP"}:${host}`);
  await writeFile(join(folder, "server.ext"), `subjectAltName=${names.join(",")}\n`);
  const issued = [
    "-in",
    "server.csr",
    "-out",
    "server.pem",
    "-extfile",
    "server.ext",
    "-days",
    `${validDays}`,
  ];
  await openssl("x509", "-req", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", ...issued);

  const [key, certificate, authority] = await Promise.all(
    ["server.key", "server.pem", "ca.pem"].map((file) => readFile(join(folder, file), "utf8")),
  );
  const keystorePath = join(folder, "keystore.pem");
  await writeFile(keystorePath, `${key}${certificate}${authority}`);
  return { ca: authority!, keystorePath };
}
