// Authorizes requests like a kubelet: TokenReview, then SubjectAccessReview on a subresource of its node.
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Certificate } from "../common/x509.ts";
import type { ControlPlane } from "../control-plane/index.ts";

interface KubeletOptions {
  readonly cluster: ControlPlane;
  readonly node: string;
  readonly certificate: Certificate;
  readonly page: () => string;
}

const REVIEWS = {
  token: "/apis/authentication.k8s.io/v1/tokenreviews",
  access: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
};

export class KubeletStandIn {
  readonly #options: KubeletOptions;
  readonly #server: Server;

  static async start(options: KubeletOptions): Promise<KubeletStandIn> {
    const kubelet = new KubeletStandIn(options);
    kubelet.#server.listen(0, "127.0.0.1");
    await once(kubelet.#server, "listening");
    return kubelet;
  }

  private constructor(options: KubeletOptions) {
    this.#options = options;
    const { certificate: cert, key } = options.certificate;
    this.#server = createServer({ cert, key }, (request, response) => void this.#answer(request, response));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const code = await this.#judge(request).catch(() => 500);
    response.writeHead(code, { "content-type": "text/plain; version=0.0.4" });
    response.end(code === 200 ? this.#options.page() : "");
  }

  async #judge({ headers, url }: IncomingMessage): Promise<number> {
    const { cluster, node } = this.#options;
    const token = /^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1];
    if (token === undefined) return 401;
    const review = await cluster.request("POST", REVIEWS.token, { spec: { token } });
    const { authenticated, user } = review.status as {
      authenticated?: boolean;
      user?: { username: string; groups: string[] };
    };
    if (authenticated !== true || user === undefined) return 401;
    // The kubelet maps all pages below /metrics/ to nodes/metrics.
    const attributes = { verb: "get", version: "v1", resource: "nodes", subresource: "metrics", name: node };
    const access = await cluster.request("POST", REVIEWS.access, {
      spec: { user: user.username, groups: user.groups, resourceAttributes: attributes },
    });
    if (access.status?.["allowed"] !== true) return 403;
    return url === "/metrics/cadvisor" ? 200 : 404;
  }
}
