import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { CertificateAuthority, type Certificate } from "../common/x509.ts";
import { ApiClient, type Credentials } from "./api-client.ts";
import { writeKubeconfig, type Identity } from "./kubeconfig.ts";

export class Identities {
  readonly authority = new CertificateAuthority("Isochrone test authority");
  readonly #folder: string;
  readonly #clients: ApiClient[] = [];
  #files = 0;

  /** @param folder for kubeconfigs; created here */
  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder);
  }

  certificateOf({ user, groups = [], validForMs }: Extract<Identity, { user: string }>): Certificate {
    const validity = validForMs === undefined ? {} : { validForMs };
    return this.authority.issue({ commonName: user, organizations: groups, ...validity });
  }

  kubeconfig(credentials: Credentials, server: string): string {
    const path = join(this.#folder, `${++this.#files}.yaml`);
    writeKubeconfig(path, server, this.authority.certificate, credentials);
    return path;
  }

  client(credentials: Credentials, server: string): ApiClient {
    const client = new ApiClient(server, this.authority.certificate, credentials);
    this.#clients.push(client);
    return client;
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }
}
