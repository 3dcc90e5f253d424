import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

export class TestAuthority {
  readonly #folder = mkdtempSync(join(tmpdir(), "isochrone-certificates-"));
  #issued = 0;

  constructor(name = "test authority") {
    const files = ["-keyout", this.#path("ca.key"), "-out", this.#path("ca.crt")];
    openssl(["req", "-x509", ...NEW_KEY, ...files, "-days", "2", "-subj", `/CN=${name}`]);
  }

  get pem(): string {
    return readFileSync(this.#path("ca.crt"), "utf8");
  }

  /** `names` as in subjectAltName (`IP:127.0.0.1,DNS:n1`); -1 days: expired. */
  issue(names: string, days = 1): Certificate {
    const [key, request, extensions, cert] = ["key", "csr", "ext", "crt"].map((kind) =>
      this.#path(`${this.#issued}.${kind}`),
    ) as [string, string, string, string];
    this.#issued++;
    openssl([
      "req",
      ...NEW_KEY,
      "-keyout",
      key,
      "-out",
      request,
      "-subj",
      "/O=system:nodes/CN=system:node:n1",
    ]);
    writeFileSync(extensions, `subjectAltName=${names}\n`);
    const by = ["-CA", this.#path("ca.crt"), "-CAkey", this.#path("ca.key"), "-CAcreateserial"];
    openssl([
      "x509",
      "-req",
      "-in",
      request,
      ...by,
      "-days",
      String(days),
      "-extfile",
      extensions,
      "-out",
      cert,
    ]);
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}

function openssl(args: readonly string[]): void {
  execFileSync("openssl", args, { stdio: "pipe" });
}
