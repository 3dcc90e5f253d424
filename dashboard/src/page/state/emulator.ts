// The embedded cluster's emulator, if the server has one. Changes need its token, from the address or
// entered. The token is checked at once, kept for this tab, and sent in a header to this server only.
import { signal } from "@preact/signals";
import { isToken, withoutToken } from "../model/emulator-token.ts";
import { allowed, Refused } from "./session.ts";

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
/** Empty until the emulator has accepted one. */
export const emulatorToken = signal("");
/** Fault of the given token, with the next step; empty: none. */
export const tokenMistake = signal("");

const NEXT =
  "Open the address “page with controls” that the terminal of the cluster shows, or enter the token of its file isochrone/lab-PORT.token on the page of a pair.";

function refuseToken(why: string): void {
  forgetToken();
  tokenMistake.value = `${why}. ${NEXT}`;
}

function forgetToken(): void {
  emulatorToken.value = "";
  sessionStorage.removeItem(TOKEN_KEY);
}

/** Keeps the token if the emulator accepts it. */
export async function offerEmulatorToken(text: string): Promise<void> {
  const token = text.trim();
  if (!isToken(token)) return refuseToken(`The emulator's token is refused: ${shapeOf(token)}`);
  try {
    await allowed(await fetch("lab/v1/token", { headers: authorization(token), redirect: "error" }));
  } catch (error) {
    if (error instanceof Refused) {
      const why =
        error.status === 401 ? "it belongs to another cluster, or to an earlier run" : error.message;
      return refuseToken(`The emulator's token is refused: ${why}`);
    }
    // Unreachable; the first change will report that or a wrong token.
  }
  tokenMistake.value = "";
  emulatorToken.value = token;
  sessionStorage.setItem(TOKEN_KEY, token);
}

function shapeOf(token: string): string {
  return `it must have 16 to 200 letters, digits, - and _, got ${token.length} characters`;
}

/** Called after a refused change. */
export function dropEmulatorToken(): void {
  refuseToken("The emulator's token is no longer accepted");
}

function authorization(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` };
}

function takeFromAddress(): boolean {
  const { fragment, token } = withoutToken(location.hash);
  if (fragment === location.hash) return false;
  history.replaceState(null, "", fragment === "" ? "#/" : fragment);
  if (token === null) return false;
  if (hasEmulator) void offerEmulatorToken(token);
  else
    tokenMistake.value =
      "The emulator's token in the address is of no use: this server has no emulated network. Open the page of an embedded cluster (isochrone up).";
  return true;
}

const stored = hasEmulator ? sessionStorage.getItem(TOKEN_KEY) : null;
// A token in the address overrides the kept one.
if (!takeFromAddress() && stored !== null) void offerEmulatorToken(stored);
addEventListener("hashchange", takeFromAddress);

export function linkPath(source: string, target: string): string {
  return `lab/v1/links/${encodeURIComponent(source)}/${encodeURIComponent(target)}`;
}

export async function changeLink(source: string, target: string, change: LinkChange): Promise<void> {
  await allowed(
    await fetch(linkPath(source, target), {
      method: "PUT",
      headers: { "content-type": "application/json", ...authorization(emulatorToken.peek()) },
      body: JSON.stringify(change),
      redirect: "error",
    }),
  );
}
