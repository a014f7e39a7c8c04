// Search runs in a worker, which browsers refuse to a page that was opened from a folder. There, a hidden frame of the
// page runs the same script: it gets the two functions of a worker that a window has in another form.
(() => {
  if (location.protocol !== "file:") return;

  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...urls) =>
        urls.reduce((before, address) => before.then(() => load(inside, address)), Promise.resolve());
      load(inside, new URL(url, document.baseURI).href).then(() => {
        for (const data of this.waiting.splice(0)) this.send(data);
        this.waiting = undefined;
      });
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.send(data);
    }

    terminate() {
      this.frame.remove();
    }

    send(data) {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    set onmessage(listener) {
      this.addEventListener("message", listener);
    }
  }

  // Resolves once the script has run in the window.
  const load = (inside, address) =>
    new Promise((resolve, reject) => {
      const script = inside.document.createElement("script");
      script.src = address;
      script.onload = resolve;
      script.onerror = reject;
      inside.document.body.append(script);
    });

  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
})();
