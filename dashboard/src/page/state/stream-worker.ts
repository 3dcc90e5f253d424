// The browser's one event stream to this server: a SharedWorker that every tab of the page connects to. The
// build puts a hash into this file's name, so tabs of an older page keep their own worker.
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
