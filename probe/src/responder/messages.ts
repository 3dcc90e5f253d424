import type { EngineConfig, PacketKey, ResponderSnapshot } from "../ports/ports.ts";

export type ResponderConfig = Pick<
  EngineConfig,
  | "node"
  | "identity"
  | "bindAddress"
  | "udpPort"
  | "tcpPort"
  | "keys"
  | "signingKeyId"
  | "acceptTranslatedSource"
  | "responderPacketsPerSecond"
>;

export type ToResponder =
  | { readonly type: "open"; readonly id: number; readonly config: ResponderConfig }
  | {
      readonly type: "keys";
      readonly id: number;
      readonly keys: readonly PacketKey[];
      readonly signingKeyId: number;
    }
  | { readonly type: "close"; readonly id: number };

export type FromResponder =
  /** `reason`: why kernel sockets cannot be used; null if they are used. */
  | { readonly type: "ready"; readonly sockets: "kernel" | "node"; readonly reason: string | null }
  | { readonly type: "opened"; readonly id: number; readonly udpPort: number; readonly tcpPort: number }
  | { readonly type: "failed"; readonly id: number; readonly message: string; readonly errno: string }
  | { readonly type: "report"; readonly id: number; readonly snapshot: ResponderSnapshot }
  | { readonly type: "closed"; readonly id: number }
  | { readonly type: "fault"; readonly message: string };
