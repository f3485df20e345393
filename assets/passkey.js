/* Asks for a passkey, where the browser has them, and sends the form with the answer. Password managers replace `toJSON()` and */
/* `getPublicKey()` with their own, which differ, so nothing here calls them. */
let P = self.PublicKeyCredential, old, raw = t => Uint8Array.from(atob(t.replace(/-/g, "+").replace(/_/g, "/")), c => c.charCodeAt());
if (P) for (let b of document.querySelectorAll("[data-passkey]")) {
  let d = b.dataset, f = b.form, o = JSON.parse(d.passkey), ask = async m => {
    /* The browser refuses a second request while autofill waits. */
    old?.abort();
    old = new AbortController;
    try {
      let c = await navigator.credentials[o.rp ? "create" : "get"]({ publicKey: o, mediation: m, signal: old.signal }), r = c.response, s = { transports: r.getTransports?.() };
      for (let k of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) s[k] = r[k] && btoa(String.fromCharCode(...new Uint8Array(r[k]))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
      f.credential.value = JSON.stringify({ rawId: c.id, type: c.type, response: s });
      f.action = b.formAction;
      f.submit();
    } catch (e) {
      /* Cancelled by the person (NotAllowedError), or aborted above. Autofill that does not work says nothing. */
      f.failed.hidden = m || /Ab|NotA/.test(e.name);
    }
  };
  if (d.signal) P[d.signal]?.(o);
  /* Without a challenge, the button sends its form to the page that asks. */
  else if (b.hidden = 0, o.challenge) {
    for (let v of [o.user, ...o.allowCredentials || o.excludeCredentials]) if (v) v.id = raw(v.id);
    o.challenge = raw(o.challenge);
    b.onclick = () => ask();
    if (d.auto) ask(d.auto);
  }
}
