// A SharedWorker holding the browser's only event stream to this server, for all tabs. Its file name has a
// build hash, so tabs of an older page keep their own worker.
import { StreamHub, type HubMessage, type TabMessage } from "../model/stream-hub.ts";

const hub = new StreamHub({ open: (url, init) => fetch(url, init), nowMs: () => performance.now() });

addEventListener("connect", (event) => {
  if (!(event instanceof MessageEvent)) return;
  for (const port of event.ports) {
    const tab = { tell: (message: HubMessage) => port.postMessage(message, []) };
    port.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => hub.receive(tab, data));
    port.start();
  }
});
