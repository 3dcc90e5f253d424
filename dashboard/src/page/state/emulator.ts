// The embedded cluster's emulator, if the server has one. Changes need its token, from the address or
// entered. The token is kept for this tab and sent in a header to this server only.
import { signal } from "@preact/signals";
import { withoutToken } from "../model/emulator-token.ts";
import { allowed } from "./session.ts";

export interface EmulatedLink {
  readonly rttMs: number;
  readonly jitterMs: number;
  readonly lossRatio: number;
  readonly bandwidthBitsPerSecond: number | null;
  readonly cut: boolean;
}

export interface EmulatedLinkState {
  readonly link: EmulatedLink;
  readonly initial: EmulatedLink;
}

export interface LinkChange {
  readonly delayMs?: number;
  readonly jitterMs?: number;
  readonly lossRatio?: number;
  readonly bandwidthBitsPerSecond?: number | null;
  readonly cut?: boolean;
  readonly oneWay?: boolean;
}

const TOKEN_KEY = "isochrone-emulator-token";

export const hasEmulator = document.querySelector('meta[name="isochrone-emulator"]') !== null;
export const emulatorToken = signal(hasEmulator ? (sessionStorage.getItem(TOKEN_KEY) ?? "") : "");

export function enterEmulatorToken(token: string): void {
  emulatorToken.value = token.trim();
  sessionStorage.setItem(TOKEN_KEY, emulatorToken.value);
}

function takeFromAddress(): void {
  const { fragment, token } = withoutToken(location.hash);
  if (fragment === location.hash) return;
  history.replaceState(null, "", fragment === "" ? "#/" : fragment);
  if (token !== null && hasEmulator) enterEmulatorToken(token);
}

takeFromAddress();
addEventListener("hashchange", takeFromAddress);

export function linkPath(source: string, target: string): string {
  return `lab/v1/links/${encodeURIComponent(source)}/${encodeURIComponent(target)}`;
}

export async function changeLink(source: string, target: string, change: LinkChange): Promise<void> {
  await allowed(
    await fetch(linkPath(source, target), {
      method: "PUT",
      headers: { "content-type": "application/json", authorization: `Bearer ${emulatorToken.peek()}` },
      body: JSON.stringify(change),
      redirect: "error",
    }),
  );
}
