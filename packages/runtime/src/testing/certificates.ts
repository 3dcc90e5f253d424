import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

export interface TestCertificate {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A test authority and its certificates in one folder. Needs openssl. */
export class TestAuthority {
  readonly caFile: string;
  readonly #folder: string;
  readonly #name: string;

  private constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
    this.caFile = join(folder, `${name}.pem`);
  }

  static async create(folder: string, name = "ca"): Promise<TestAuthority> {
    const authority = new TestAuthority(folder, name);
    const subject = ["-subj", `/CN=Isochrone test authority ${name}`, "-days", "2"];
    const output = ["-keyout", `${name}.key`, "-out", `${name}.pem`];
    await openssl(folder, ["req", "-x509", "-new", ...CURVE, ...subject, ...output]);
    return authority;
  }

  /** Server certificate for these hosts, or client certificate without hosts. 0 days: expired. */
  async issue(name: string, hosts: readonly string[] = [], days = 2): Promise<TestCertificate> {
    const request = ["-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`];
    await openssl(this.#folder, ["req", "-new", ...CURVE, ...request]);
    const alternatives = hosts.map((host) => `${isIP(host) === 0 ? "DNS" : "IP"}:${host}`);
    const extension =
      hosts.length > 0 ? `subjectAltName=${alternatives.join(",")}\n` : "extendedKeyUsage=clientAuth\n";
    await writeFile(join(this.#folder, `${name}.ext`), extension);
    const signer = ["-CA", `${this.#name}.pem`, "-CAkey", `${this.#name}.key`, "-CAcreateserial"];
    const files = ["-in", `${name}.csr`, "-extfile", `${name}.ext`, "-out", `${name}.pem`];
    const signed = [...files, "-days", String(days)];
    await openssl(this.#folder, ["x509", "-req", ...signer, ...signed]);
    return { certFile: join(this.#folder, `${name}.pem`), keyFile: join(this.#folder, `${name}.key`) };
  }

  ca(): Promise<string> {
    return readFile(this.caFile, "utf8");
  }
}

const CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

async function openssl(folder: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)("openssl", args, { cwd: folder, timeout: 30_000 });
}
