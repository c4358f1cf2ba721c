"""A headless Chromium, driven through a pipe by its DevTools protocol: needs no package."""
import base64
import json
import os
import pathlib
import subprocess
import tempfile
import time

BUILD = pathlib.Path(__file__).resolve().parents[2] / 'build'


class Browser:
    """with Browser('chromium', url) as page: page.evaluate('document.title')"""

    def __init__(self, program, url, width=1280, height=900, dark=False):
        # Its profile, and its TMPDIR: relative, as paths of sockets must be short. What a test
        # leaves that is killed goes with make clean.
        BUILD.mkdir(exist_ok=True)
        self.folder = tempfile.TemporaryDirectory(prefix='browser-', dir=BUILD,
                                                  ignore_cleanup_errors=True)
        commands_out, self.commands = os.pipe()
        self.answers, answers_in = os.pipe()
        # Chromium reads from 3 and writes to 4, whatever these two are here.
        os.set_inheritable(commands_out, True)
        os.set_inheritable(answers_in, True)
        redirect = 'exec "$@" 3<&%d 4>&%d' % (commands_out, answers_in)
        self.process = subprocess.Popen(
            ['bash' if commands_out > 9 or answers_in > 9 else 'sh', '-c', redirect, 'sh', program,
             '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
             '--no-first-run', '--remote-debugging-pipe', '--user-data-dir=' + self.folder.name],
            env=dict(os.environ, TMPDIR=os.path.relpath(self.folder.name)), close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands_out)
        os.close(answers_in)
        self.number, self.rest, self.session, self.events = 0, b'', None, []
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target,
                                 flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'DOM', 'Network'):
            self.call(domain + '.enable')
        self.resize(width, height, dark)
        self.call('Page.navigate', url=url)
        self.wait('document.readyState === "complete"')

    def call(self, method, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.commands, json.dumps(message).encode() + b'\0')
        while True:
            while b'\0' not in self.rest:
                part = os.read(self.answers, 1 << 20)
                if not part:
                    raise RuntimeError('the browser has ended')
                self.rest += part
            text, self.rest = self.rest.split(b'\0', 1)
            answer = json.loads(text)
            if answer.get('id') != self.number:
                self.events.append(answer)
            elif 'error' in answer:
                raise RuntimeError('%s: %s' % (method, answer['error']['message']))
            else:
                return answer['result']

    def evaluate(self, expression):
        """The value of an expression, or of its promise."""
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True,
                           awaitPromise=True)
        if 'exceptionDetails' in answer:
            details = answer['exceptionDetails']
            raise RuntimeError(details.get('exception', {}).get('description', details['text']))
        return answer['result'].get('value')

    def wait(self, expression, seconds=60, each=0.2):
        """Until the expression is true; returns its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.evaluate(expression)
            if value:
                return value
            time.sleep(each)
        raise RuntimeError('after %d s still not true: %s' % (seconds, expression))

    def resize(self, width, height, dark=False):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 500)
        self.call('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])

    def choose(self, selector, files):
        """As if a user had chosen these files in <input type=file>."""
        root = self.call('DOM.getDocument')['root']['nodeId']
        node = self.call('DOM.querySelector', nodeId=root, selector=selector)['nodeId']
        self.call('DOM.setFileInputFiles', nodeId=node,
                  files=[os.path.abspath(file) for file in files])

    def mouse(self, kind, x, y, buttons=1):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', buttons=buttons,
                  clickCount=1)

    def click(self, element):
        """With the mouse, in the middle of an element, given as an expression."""
        x, y = self.evaluate("""(() => {
            const element = %s;
            element.scrollIntoView({ block: 'nearest', inline: 'nearest' });
            const box = element.getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2];
        })()""" % element)
        for kind in ('mousePressed', 'mouseReleased'):
            self.mouse(kind, x, y)

    def computed(self):
        """Seconds for which the thread of the page has computed, whatever else the machine does."""
        self.call('Performance.enable', timeDomain='threadTicks')
        metrics = self.call('Performance.getMetrics')['metrics']
        return next(one['value'] for one in metrics if one['name'] == 'TaskDuration')

    def offline(self):
        """From here on nothing can be had from the network."""
        self.call('Network.emulateNetworkConditions', offline=True, latency=0,
                  downloadThroughput=-1, uploadThroughput=-1)

    def key(self, key, text=''):
        self.call('Input.dispatchKeyEvent', type='keyDown', key=key, text=text)
        self.call('Input.dispatchKeyEvent', type='keyUp', key=key)

    def requests(self):
        """The addresses that the page has asked for."""
        return [event['params']['request']['url'] for event in self.events
                if event.get('method') == 'Network.requestWillBeSent']

    def screenshot(self, file, whole=True):
        data = self.call('Page.captureScreenshot', captureBeyondViewport=whole)['data']
        with open(file, 'wb') as out:
            out.write(base64.b64decode(data))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        os.close(self.commands)
        os.close(self.answers)
        self.folder.cleanup()
