"""The what-if page: present and changed storm side by side, in a browser.

It is a Dash application. The browser keeps what the viewer has changed and sends all of it with every move, so the
server holds nothing of any viewer and many can look at once.
"""
